/** A server with images, whose packages a feed knows something about. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { startWithFolder } from "../server.ts";

/** A record of OSV about versions of an npm package before one. */
function record(id: string, cve: string, vector: string, name: string, fixed: string) {
  return {
    id,
    modified: "2026-01-02T03:04:05Z",
    published: "2026-01-01T00:00:00Z",
    summary: `Something in ${name}`,
    aliases: [cve],
    severity: [{ type: "CVSS_V3", score: vector }],
    affected: [
      {
        package: { ecosystem: "npm", name },
        ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed }] }],
      },
    ],
  };
}

const records = [
  record("GHSA-aaaa-bbbb-cccc", "CVE-2026-0001", "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H", "lodash", "4.17.21"),
  record("GHSA-dddd-eeee-ffff", "CVE-2026-0002", "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N", "@scope/pkg", "2.0.0"),
];

/** A bill of materials of npm packages, by name and version; one without version has "". */
export function sbomOf(packages: Readonly<Record<string, string>>) {
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    components: Object.entries(packages).map(([name, version]) => ({
      type: "library",
      name,
      ...(version !== "" && { version }),
      purl: `pkg:npm/${name.replace("@", "%40")}${version === "" ? "" : `@${version}`}`,
    })),
  };
}

/** The digest of the image of a tag. */
export const digestOf = (tag: string) => `sha256:${Buffer.from(tag).toString("hex").padEnd(64, "0")}`;

/** Starts a server with the repo `library/api` in the group `team`, and its tags `1.3` and `1.4`. */
export async function startSeeded() {
  const server = await startWithFolder();
  const database = ["--database", `sqlite:${join(server.folder, "platform.db")}`];
  const done = async (...args: string[]) => {
    const { code, stdout, stderr } = await server.run(args);
    expect({ args, code, stderr }).toMatchObject({ code: 0 });
    return stdout;
  };
  await done("create", "group", "--parent", server.root, "--name", "team");
  const made = JSON.parse(await done("create", "repo", "--parent", "team", "--name", "library/api", "-o", "json"));
  for (const [tag, packages] of [
    ["1.3", { lodash: "4.17.20", "@scope/pkg": "1.0.0", gone: "1.0.0" }],
    ["1.4", { lodash: "4.17.21", "@scope/pkg": "1.0.0", come: "1.0.0" }],
  ] as const) {
    await done("create", "tag", "--parent", "library/api", "--name", tag, "--digest", digestOf(tag));
    const file = join(server.folder, `${tag}.cdx.json`);
    await writeFile(file, JSON.stringify(sbomOf(packages)));
    await done("import", "sbom", file, "--repo", made.uid, "--digest", digestOf(tag), ...database);
  }
  for (const each of records) await writeFile(join(server.folder, `${each.id}.json`), JSON.stringify(each));
  for (const { id } of records)
    await done("import", "osv", join(server.folder, `${id}.json`), "--feed", id, ...database);
  return { ...server, repo: made.uid as string, done };
}
