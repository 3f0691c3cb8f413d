/** What `platform export documents`, `get` and `list` print is applied: to the same server, and to an empty one. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runHere } from "../cli/run-here.ts";
import { type LiveServer, onEveryServer } from "./live-server.ts";

/** A busy machine makes requests wait; none is refused for that. */
const settings = { maxQueueDelay: "60s" };

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-"));
});

afterAll(() => rm(folder, { recursive: true }));

/** Everything below `acme` that documents describe. */
const documents = `
kind: Group
parent: /platform
spec: {name: acme, description: "with: punctuation, and # more"}
---
kind: Group
parent: /platform/acme
spec: {name: team}
---
kind: Group
parent: team
spec: {name: acme}
---
kind: Role
parent: /platform/acme
spec: {name: viewer, description: of its own, capabilities: [CAP_REPO_LIST, CAP_TAG_LIST]}
---
kind: Identity
parent: team
spec: {name: bot, claim_match: {issuer: "https://issuer.example.com", subject_pattern: "repo:.*", claim_patterns: {ref: "refs/.*"}}}
---
kind: RoleBinding
parent: team/acme
spec: {identityUid: bot, roleUid: /viewer}
---
kind: RoleBinding
parent: team
spec: {identityUid: team/bot, roleUid: acme/viewer}
---
kind: RoleBinding
parent: team
spec: {identityUid: /administrator, roleUid: /viewer}
---
kind: Repo
parent: team/acme
spec: {name: library/nginx, catalog_tier: CATALOG_TIER_BASE, bundles: [base, fips], aliases: ["nginx:latest"]}
---
kind: Repo
parent: team
spec: {name: nginx}
---
kind: RepoReadme
parent: library/nginx
spec: {content: "# nginx\\n\\n::error:: is text\\n\\n- a\\n"}
---
kind: Tag
parent: acme/library/nginx
spec: {name: "1.10", digest: "sha256:${"a".repeat(64)}", bundles: [base]}
---
kind: Subscription
parent: /platform/acme
spec: {sink: "https://example.com/hook"}
---
kind: GroupInvite
parent: team
spec: {roleUid: acme/viewer, ttl: 3600s}
---
kind: AccountAssociation
parent: /platform/acme
spec: {name: clouds, amazon: {account: "123456789012"}}
`;

/** Runs a command against a server, as its administrator. */
async function runOn({ baseUrl, admin }: LiveServer, ...args: string[]) {
  return runHere(args, { env: { PLATFORM_SERVER: baseUrl, PLATFORM_TOKEN: admin, XDG_STATE_HOME: folder } });
}

/** Applies documents and returns the summary. */
async function apply(server: LiveServer, text: string): Promise<string> {
  const file = join(folder, "documents.yaml");
  await writeFile(file, text);
  const { stdout, stderr } = await runOn(server, "apply", "-f", file);
  expect(stderr).toBe("");
  return stdout.trim().split("\n").at(-1)!;
}

onEveryServer("a server", settings, (source) => {
  let exported = "";

  beforeAll(async () => {
    expect(await apply(source(), documents)).toContain("created 14, updated 1,");
    const { code, stdout, stderr } = await runOn(source(), "export", "documents", "--below", "/platform/acme");
    expect([code, stderr]).toEqual([0, ""]);
    exported = stdout;
  });

  test("is not changed by its own documents", async () => {
    expect(await apply(source(), exported)).toBe("created 0, updated 0, unchanged 14, pruned 0");
    for (const kind of ["groups", "roles", "identities", "role-bindings", "repos", "tags", "subscriptions"]) {
      const { stdout } = await runOn(source(), "list", kind, "--below", "/platform/acme", "-o", "documents");
      expect(await apply(source(), stdout)).toMatch(/^created 0, updated 0, unchanged [1-9]\d*, pruned 0$/);
    }
    const { stdout } = await runOn(source(), "get", "repo-readme", "acme/library/nginx", "-o", "documents");
    expect(await apply(source(), stdout)).toBe("created 0, updated 0, unchanged 1, pruned 0");
  });

  test("names what cannot be made again", async () => {
    expect(exported).toContain("# The server returns no ttl, without which it cannot be created.\n# kind: Group");
    expect(exported).toContain("# Another one that is created gets its own signing_secret.\n# Its delivery settings");
    expect(exported).not.toContain(source().root);
  });

  onEveryServer("an empty server", settings, (target) => {
    test("becomes like it", async () => {
      expect(await apply(target(), exported)).toBe("created 13, updated 1, unchanged 0, pruned 0");
      expect((await runOn(target(), "export", "documents", "--below", "acme/team")).code).toBe(0);
      const { stdout } = await runOn(target(), "export", "documents", "--below", "/platform/acme");
      expect(stdout).toBe(exported.replace(/# The server returns no ttl.*?\n---\n/s, ""));
    });
  });
});

onEveryServer("a tag that v1 has created without a digest", settings, (server) => {
  test("is a comment", async () => {
    await apply(server(), "kind: Repo\nparent: /platform\nspec: {name: app}\n");
    const { body } = await server().call("GET", "/registry/v2/repos?name=app");
    await server().call("POST", `/registry/v1/tags/${body.repos[0].uid}`, { name: "empty" });
    const { stdout } = await runOn(server(), "list", "tags", "-o", "documents");
    expect(stdout).toContain("# The server returns no digest, without which it cannot be created.\n# kind: Tag\n");
    expect(stdout).not.toMatch(/^kind/m);
  });
});

onEveryServer("resources that only their uids tell apart", settings, (server) => {
  test("are documents with uids, also where others refer to them", async () => {
    const { root } = server();
    const [first, second] = [await server().group(), await server().group()].sort() as [string, string];
    const repo = (uid: string) => `kind: Repo\nparent: ${uid}\nspec: {name: nginx}\n`;
    await apply(server(), `${repo(first)}---\n${repo(second)}`);
    const { stdout } = await runOn(server(), "export", "documents", "--below", root);
    expect(stdout).toContain("# Another Group is like it: only their uids differ.\nkind: Group\n");
    expect(stdout).toContain(`kind: Repo\nparent: ${first}\n`);
    expect(await apply(server(), stdout)).toMatch(/^created 0, updated 0, unchanged [1-9]\d*, pruned 0$/);
    const { code, stderr } = await runOn(server(), "list", "repos", "--parent", "group");
    expect([code, stderr]).toEqual([
      2,
      `error: 2 groups are named group: /platform/group (${first}), /platform/group (${second})\n`,
    ]);
  });
});
