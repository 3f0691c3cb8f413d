/** `platform apply`, `diff` and `--prune` against a server. */
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { lockRecord } from "../../../src/remote/apply/record.ts";
import { startWithFolder } from "../server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;

beforeAll(async () => {
  server = await startWithFolder();
});

afterAll(() => server.stop());

async function write(name: string, text: string): Promise<string> {
  const file = join(server.folder, name);
  await writeFile(file, text);
  return file;
}

test("documents of every kind are created, by the names of each other, and are then unchanged", async () => {
  const text = `
kind: RoleBinding
parent: team
spec: {identityUid: bot, role_uid: viewer}
---
kind: Group
parent: ${server.root}
spec: {name: team}
---
kind: Role
parent: team
spec: {name: viewer, capabilities: [CAP_REPO_LIST, CAP_TAG_LIST]}
---
kind: Identity
parent: team
spec: {name: bot, claim_match: {issuer: "https://issuer.example.com", subject: bot}}
---
kind: Repo
parent: team
spec: {name: nginx, bundles: [base, fips], createTime: "2026-01-01T00:00:00Z"}
---
kind: RepoReadme
parent: nginx
spec: {content: "# nginx"}
---
kind: Tag
parent: nginx
spec: {name: latest, digest: "sha256:${"a".repeat(64)}"}
---
kind: Subscription
parent: team
spec: {sink: "https://example.com/hook"}
---
kind: GroupInvite
parent: team
spec: {roleUid: viewer, ttl: 3600s, email: a@example.com}
---
kind: GroupInvite
parent: team
spec: {roleUid: viewer, ttl: 3600s, email: b@example.com}
---
kind: AccountAssociation
parent: team
spec: {name: clouds, amazon: {account: "123456789012"}}
`;
  const file = await write("all.yaml", text);
  const dry = await server.run(["apply", "-f", file, "--dry-run"]);
  expect(dry.stdout).toContain("created 10, updated 1, unchanged 0, pruned 0 (dry run)\n");
  const first = await server.run(["apply", "-f", file]);
  expect(first).toMatchObject({ code: 0, stderr: `note: ${file}:18: ignored what the server sets: createTime\n` });
  expect(first.stdout).toContain("created 10, updated 1, unchanged 0, pruned 0\n");
  expect(first.stdout).toMatch(/\+ Subscription https:\/\/example.com\/hook in team\n.*\n {4}signing_secret: whsec_/);
  expect((await server.run(["apply", "-f", file])).stdout).toBe("created 0, updated 0, unchanged 11, pruned 0\n");
  expect(await server.run(["diff", "-f", file])).toMatchObject({ code: 0, stdout: "" });

  await write(
    "all.yaml",
    text.replace("base, fips", "fips, ai").replace("subject: bot", "subject_pattern: bot.*").replace("aaaa", "bbbb"),
  );
  const changes = await server.run(["diff", "-f", file]);
  expect(changes.code).toBe(1);
  expect(changes.stdout).toContain('~ Repo nginx in team\n    - bundles: "base"\n    + bundles: "ai"\n');
  expect(changes.stdout).toContain('    - claim_match.subject: "bot"\n');
  expect((await server.run(["apply", "-f", file])).stdout).toContain("created 0, updated 3, unchanged 8, pruned 0\n");
  expect((await server.run(["diff", "-f", file])).code).toBe(0);

  await write("all.yaml", `kind: Group\nparent: ${server.root}\nspec: {name: team}\n`);
  expect(await server.run(["apply", "-f", file, "--prune"])).toMatchObject({ code: 2 });
  const pruned = await server.run(["apply", "-f", file, "--prune", "--yes"]);
  expect(pruned.stdout).toContain("created 0, updated 0, unchanged 1, pruned 9\n");
  expect((await server.run(["apply", "-f", file, "--prune", "--yes"])).stdout).toContain("unchanged 1, pruned 0\n");
});

test("200 documents are applied, 10 of them changed, applied again, and pruned", async () => {
  const text = (count: number, changed: number) =>
    Array.from(
      { length: count },
      (_, i) =>
        `kind: Repo\nparent: ${server.root}\nspec: {name: r${i}, description: ${i < changed ? "new" : "old"}}\n`,
    ).join("---\n");
  const file = await write("many.yaml", text(200, 0));
  const apply = async (...options: string[]) => {
    const start = performance.now();
    const { stdout, stderr } = await server.run(["apply", "-f", file, ...options]);
    console.info(`${stdout.trim().split("\n").at(-1)} in ${Math.round(performance.now() - start)} ms`);
    expect(stderr).toBe("");
    return stdout.trim().split("\n").at(-1);
  };
  expect(await apply()).toBe("created 200, updated 0, unchanged 0, pruned 0");
  await write("many.yaml", text(200, 10));
  expect(await apply()).toBe("created 0, updated 10, unchanged 190, pruned 0");
  expect(await apply()).toBe("created 0, updated 0, unchanged 200, pruned 0");
  await write("many.yaml", text(150, 10));
  expect(await apply("--prune", "--yes")).toBe("created 0, updated 0, unchanged 150, pruned 50");
  const state = join(server.folder, "state/platform/apply");
  const records = (await readdir(state)).filter((name) => name.endsWith(".json"));
  const record = await Promise.all(records.map(async (name) => JSON.parse(await readFile(join(state, name), "utf8"))));
  expect(record.find(({ origin }) => origin === file).resources).toHaveLength(150);
  expect((await stat(join(state, records[0]!))).mode & 0o777).toBe(0o600);
});

test("a failure names its document, skips what depends on it, and lets the others go on", async () => {
  const file = await write(
    "bad.yaml",
    `kind: Group\nparent: missing\nspec: {name: orphan}\n---\nkind: Role\nparent: orphan\n` +
      `spec: {name: a, capabilities: [CAP_REPO_LIST]}\n---\nkind: Repo\nparent: ${server.root}\nspec: {name: fine}\n`,
  );
  const { code, stdout, stderr } = await server.run(["apply", "-f", file]);
  expect(code).toBe(3);
  expect(stderr).toMatch(/^error: .*bad\.yaml:2: Group orphan in missing: no group is named missing/);
  expect(stderr).toMatch(/skipped: .*bad\.yaml:5: Role a in orphan: it depends on Group orphan in missing/);
  expect(stdout).toContain("created 1, updated 0, unchanged 0, pruned 0, failed 1, skipped 1\n");
});

test("value rules of all documents are checked before any call, of an update only those of the fields it names", async () => {
  const good = `kind: Repo\nparent: ${server.root}\nspec: {name: good}\n`;
  const file = await write(
    "rules.yaml",
    `${good}---\n${good.replace("good", "BAD")}---\n${good.replace("good", "UPPER")}`,
  );
  const offline = { PLATFORM_SERVER: "http://127.0.0.1:1" };
  for (const command of ["apply", "diff"])
    expect(await server.run([command, "-f", file], offline)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(
        /^error: .*rules\.yaml:7: Repo BAD in [0-9a-f]+: name: .*\n.*rules\.yaml:11: Repo UPPER in [0-9a-f]+: name: .*\n$/,
      ),
    });
  const bot = `kind: Identity\nparent: ${server.root}\nspec: {name: part, claimMatch: {issuer: "https://a.example.com", subject: a}}\n`;
  expect(await server.run(["apply", "-f", await write("part.yaml", bot)])).toMatchObject({ code: 0 });
  const part = bot.replace('issuer: "https://a.example.com", subject: a', "subject: b");
  expect((await server.run(["apply", "-f", await write("part.yaml", part)])).stdout).toContain("updated 1");
});

test.each([
  ["kind: Rol\nspec: {}", "kind Rol: no such kind; did you mean Role?"],
  ["kind: Advisory\nspec: {}", "the API cannot create or change them"],
  ["kind: Role\nspec: {nam: a}", "nam: Role has no such field; did you mean name?"],
  ["kind: Role\nspec: {name: [}", "bad"],
  ["kind: Tag\nparent: a\nspec: {name: 1.0}", 'bad.yaml:3: name: must be a string; quote it: "1.0"\n'],
  ["- {kind: Tag, spec: {name: 010}}", 'bad.yaml:1: name: must be a string; quote it: "010"\n'],
  ["kind: Repo\nspec: {name: a, sync_config: {source: 0x1F}}", 'syncConfig.source: must be a string; quote it: "0x1F"'],
  ["kind: Repo\nspec: {name: a, bundles: base}", "bundles: must be a list"],
  ["kind: Repo\nspec: {name: a, bundles: [base, yes, 1e3]}", 'bundles[2]: must be a string; quote it: "1e3"'],
  ["kind: Role\nspec: {name: a, capabilities: [CAP_NOPE]}", 'bad.yaml:2: capabilities[0]: there is no "CAP_NOPE"\n'],
  ["kind: Role\nspec: {name: a, capabilities: [repo.list]}", "did you mean CAP_REPO_LIST?"],
  ["kind: Role\nspec: {name: a, capabilities: [CAP_REPO_LIS]}", "did you mean CAP_REPO_LIST?"],
  ["kind: GroupInvite\nspec: {ttl: soon, roleUid: a}", "bad.yaml:2: ttl: must be a number of seconds, such as 3600s"],
  ["kind: Group\nparent: b\nspec: {name: a}\n---\nkind: Group\nparent: a\nspec: {name: b}", "refer to each other"],
  ["kind: Group\nspec: {name: a}\n---\nkind: Group\nspec: {name: a}", "is already described by"],
  [
    "---\n---\n- kind: Repo\n  spec:\n    name: a\n    bundles:\n      - base\n      - 1",
    "bad.yaml:8: bundles[1]: must",
  ],
  [
    "kind: Repo\nspec:\n  name: a\n  sync_config:\n    sauce: b",
    "bad.yaml:5: sync_config.sauce: SyncConfig has no such",
  ],
  ["kind: Role\nspec: &a\n  name: a\n---\nkind: Tag\nspec:\n  name: a\n  digest: b", "bad.yaml:8: Tag a: digest: "],
  ["kind: Role\nparent: [a]\nspec: {name: a}", "bad.yaml:2: parent must be a string"],
  ["uid: a\nname: b", "bad.yaml:2: a document has kind, parent, uid and spec, not name; this is a resource of the API"],
])("%j is refused before any call", async (text, message) => {
  const { code, stderr } = await server.run(["apply", "-f", await write("bad.yaml", text)]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test("two applies of one origin exclude each other", async () => {
  const file = await write("locked.yaml", `kind: Repo\nparent: ${server.root}\nspec: {name: locked}\n`);
  const record = join(server.folder, "record.json");
  await writeFile(`${record}.lock`, "99999999"); // of a process that has ended
  const release = await lockRecord(record, "other");
  expect(await server.run(["apply", "-f", file, "--record", record])).toMatchObject({ code: 5, stdout: "" });
  await release();
  expect(await server.run(["apply", "-f", file, "--record", record])).toMatchObject({ code: 0 });
});

test.each([
  ["a token that is refused", { PLATFORM_TOKEN: "wrong" }, 4],
  ["a server that does not answer", { PLATFORM_SERVER: "http://127.0.0.1:1" }, 6],
])("%s is reported once, and ends the apply", async (_, env, status) => {
  const text = Array.from({ length: 30 }, (_, i) => `kind: Repo\nparent: ${server.root}\nspec: {name: n${i}}\n`);
  const { code, stderr } = await server.run(["apply", "-f", await write("general.yaml", text.join("---\n"))], env);
  expect({ code, errors: stderr.match(/^error: /gm)?.length }).toEqual({ code: status, errors: 1 });
});

test("what the server refuses, and what it does not have, has the line of its field", async () => {
  const file = await write(
    "lines.yaml",
    `kind: Identity\nparent: ${server.root}\nspec:\n  name: lines\n  claim_match:\n    issuer: https://a.example.com\n` +
      `    subject_pattern: "(["\n---\nkind: RoleBinding\nparent: ${server.root}\nspec:\n  identity_uid: lines\n` +
      `  role_uid: nobody\n---\nkind: RoleBinding\nparent: ${server.root}\nspec: {identity_uid: /administrator, role_uid: nobody}\n`,
  );
  const { stderr } = await server.run(["apply", "-f", file]);
  expect(stderr).toMatch(/lines\.yaml:7: Identity lines in \S+: Invalid argument: .*subject_pattern/);
  expect(stderr).toMatch(/lines\.yaml:17: RoleBinding \/administrator, nobody in \S+: no role is named nobody\n/);
});

test("equal names in two groups are told apart", async () => {
  const repo = (group: string) => `---\nkind: Repo\nparent: ${group}\nspec: {name: same}\n`;
  const group = (name: string) => `---\nkind: Group\nparent: ${server.root}\nspec: {name: ${name}}\n`;
  const file = await write("same.yaml", `${group("left")}${group("right")}${repo("left")}${repo("right")}`);
  const { code, stdout } = await server.run(["diff", "-f", file]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^\+ Repo same in left$/m);
  expect(stdout).toMatch(/^\+ Repo same in right$/m);
  const tag = (repo: string) =>
    `---\nkind: Tag\nparent: ${repo}\nspec: {name: "1", digest: "sha256:${"a".repeat(64)}"}\n`;
  const text = await readFile(file, "utf8");
  const ambiguous = await server.run(["apply", "-f", await write("ambiguous.yaml", text + tag("same"))]);
  expect(ambiguous).toMatchObject({ code: 2, stdout: "" });
  expect(ambiguous.stderr).toMatch(/ambiguous\.yaml:19: Tag 1 in same: same may be any of .*: name it by its path\n/);
  await write("same.yaml", text + tag("left/same"));
  expect((await server.run(["apply", "-f", file])).stdout).toContain("created 5,");
  expect((await server.run(["get", "tag", "left/same/1", "-o", "name"])).code).toBe(0);
  expect(await server.run(["get", "tag", "right/same/1"])).toMatchObject({
    code: 3,
    stderr: "error: no tag is named right/same/1\n",
  });
});
