/** `platform apply` against servers on every database: eight calls at a time, of one client. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../cli/platform-process.ts";
import { runHere } from "../cli/run-here.ts";
import { onEveryServer } from "./live-server.ts";

onEveryServer("platform apply", {}, (server) => {
  test("300 documents are applied, applied again, changed and pruned", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "all.json");
    const { baseUrl, admin, root } = server();
    const env = { PLATFORM_SERVER: baseUrl, PLATFORM_TOKEN: admin, XDG_STATE_HOME: folder };
    const apply = async (repos: number, description: string) => {
      const documents = [
        { kind: "Role", parent: "team", spec: { name: "reader", capabilities: ["CAP_REPO_LIST"] } },
        ...Array.from({ length: repos }, (_, i) => ({
          kind: "Repo",
          parent: "team",
          spec: { name: `r${i}`, description: i < 10 ? description : "same" },
        })),
        { kind: "Group", parent: root, spec: { name: "team" } },
      ];
      await writeFile(file, JSON.stringify(documents));
      const { stdout, stderr } = await runHere(["apply", "-f", file, "--prune", "--yes"], { cwd: folder, env });
      return { summary: stdout.trim().split("\n").at(-1), stderr };
    };
    const summary = (text: string) => ({ summary: text, stderr: "" });
    expect(await apply(298, "old")).toEqual(summary("created 300, updated 0, unchanged 0, pruned 0"));
    expect(await apply(298, "old")).toEqual(summary("created 0, updated 0, unchanged 300, pruned 0"));
    expect(await apply(198, "new")).toEqual(summary("created 0, updated 10, unchanged 190, pruned 100"));
  });
});
