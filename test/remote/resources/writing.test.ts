/** `platform create`, `update` and `delete` against a server. */
import { chmod, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { exchangeToken } from "../../../src/client/index.ts";
import { sign, startIssuer, testKey } from "../../auth/local-issuer.ts";
import { startWithFolder } from "../server.ts";
import { program } from "../terminal.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;

beforeAll(async () => {
  server = await startWithFolder();
});

afterAll(() => server.stop());

/** Runs a command that succeeds, and returns what it prints. */
async function output(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await server.run(args, env);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

/** An editor that runs a sed script. */
async function editor(name: string, script: string): Promise<{ EDITOR: string }> {
  const file = join(server.folder, name);
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o700);
  return { EDITOR: file };
}

test("a repo is created, updated, cleared and deleted by flags", async () => {
  const create = ["create", "repo", "--parent", server.root, "--name", "nginx", "--description", "web"];
  expect(await output([...create, "--dry-run"])).toContain("name: nginx\n");
  const created = await output([...create, "--bundles", "base", "--bundles", "fips", "-o", "json"]);
  expect(JSON.parse(created)).toMatchObject({ name: "nginx", description: "web", bundles: ["base", "fips"] });
  expect(await output(["update", "repos", "nginx", "--catalog-tier", "base"])).toContain(
    "catalogTier: CATALOG_TIER_BASE",
  );
  const cleared = await output(["update", "Repo", "nginx", "--clear", "description", "bundles", "-o", "json"]);
  expect(JSON.parse(cleared)).toMatchObject({ description: "", bundles: [] });
  expect(await server.run(["update", "repo", "nginx", "--description", "x", "--dry-run"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("description: x\n"),
    stderr: "note: dry run: nothing is changed\n",
  });
  expect(await server.run(["update", "repo", "nginx", "--clear", "descripton"])).toMatchObject({
    code: 2,
    stderr: "error: --clear descripton: Repo has no such field; did you mean description?\n",
  });
  expect(await output(["delete", "repo", "nginx", "--dry-run"])).toMatch(/^repo\/\S+ would be deleted\n$/);
  expect(await output(["delete", "repo", "nginx", "--force"])).toMatch(/^repo\/\S+ deleted\n$/);
  expect(await server.run(["delete", "repo", "nginx"])).toMatchObject({ code: 3 });
});

test("--force overrides what refuses an update or a deletion, where the method has it", async () => {
  const key = await testKey("ES256", "k");
  const issuer = await startIssuer(key);
  onTestFinished(() => issuer.close());
  const other = await startWithFolder({ allowLoopbackIssuers: "true" });
  onTestFinished(() => other.stop());
  const succeeds = async (...args: string[]) => expect(await other.run(args)).toMatchObject({ code: 0 });
  const oidc = ["--oidc.issuer", issuer.url, "--oidc.client-id", "web", "--oidc.pkce-enabled"];
  await succeeds("create", "group", "--name", "acme");
  await succeeds(
    "create",
    "identity-provider",
    "--parent",
    "acme",
    "--name",
    "login",
    "--default-role",
    "owner",
    ...oidc,
  );
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer.url, sub: "jane", aud: "web", iat: now, exp: now + 300 };
  await exchangeToken({ server: other.server }, await sign(key, claims));
  const update = ["update", "identity-provider", "login", "--oidc.client-id", "cli"];
  const remove = ["delete", "identity-provider", "login"];
  for (const args of [update, remove])
    expect(await other.run(args)).toMatchObject({ code: 5, stderr: expect.stringMatching(/owner.*sign in.*force/) });
  await succeeds(...update, "--force");
  await succeeds(...remove, "--force");
  expect(await other.run(["update", "repo", "--help"])).toMatchObject({ stdout: expect.not.stringMatching("--force") });
});

test("documents are created, with messages, references by name and secrets that are shown once", async () => {
  const file = join(server.folder, "roles.yaml");
  await writeFile(file, "name: a\ncapabilities: [CAP_REPO_LIST]\n---\nname: b\ncapabilities: [CAP_REPO_LIST]\n");
  expect(await output(["create", "role", "--parent", server.root, "-f", file])).toMatch(/^uid: .*\n---\nuid: /s);
  const claims = ["--claim-match.issuer", "https://issuer.example.com", "--claim-match.subject", "bot"];
  await output(["create", "identity", "--parent", server.root, "--name", "bot", ...claims]);
  const binding = ["create", "role-binding", "--parent", server.root, "--identity-uid", "bot", "--role-uid", "a"];
  expect(await output([...binding, "-o", "name"])).toMatch(/^role-binding\/\S+\n$/);
  const subscribe = ["create", "subscription", "--parent", server.root, "--sink", "https://example.com/"];
  expect(await output(subscribe)).toContain("signingSecret: whsec_");
  expect(JSON.parse(await output([...subscribe, "-o", "json"])).signingSecret).toMatch(/^whsec_/);
});

test.each([
  ["subscription", ["--sink", "https://example.com/"], "signing_secret", /whsec_\S+/, "signingSecret"],
  ["group-invite", ["--role-uid", "viewer", "--ttl", "1h"], "code", /\S{40,}/, "code"],
])("the secret of a new %s is printed in every format", async (kind, fields, path, secret, jsonName) => {
  const create = ["create", kind, "--parent", server.root, ...fields, "-o"];
  const { code, stdout, stderr } = await server.run([...create, "name"]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(new RegExp(`^${kind}/\\S+\n$`)) });
  expect(stderr).toMatch(new RegExp(`^${stdout.trim()}: ${path}: ${secret.source} \\(not shown again\\)\n$`));
  for (const format of ["table", "wide", "yaml", "json"]) expect(await output([...create, format])).toMatch(secret);
  const { stdout: dry, stderr: note } = await server.run([...create, "json", "--dry-run"]);
  expect(note).toBe("note: dry run: nothing is created\n");
  expect(JSON.parse(dry)[jsonName]).toBe("");
});

test.each(["table", "wide", "name", "json", "yaml"])(
  "what was created before a failure is printed with its secrets: %s",
  async (format) => {
    const file = join(server.folder, "subscriptions.yaml");
    await writeFile(file, "sink: https://example.com/\n---\nsink: http://localhost:9/\n");
    const { code, stdout, stderr } = await server.run([
      ...["create", "subscription", "--parent", server.root, "-f", file, "-o", format],
    ]);
    expect(code).toBe(7);
    expect(stdout).toContain(format === "name" ? "subscription/" : "https://example.com/");
    expect(`${stdout}${stderr}`.match(/whsec_/g)).toHaveLength(1);
    if (format === "json") expect(JSON.parse(stdout)).toHaveLength(1);
  },
);

test("a rotated secret is printed in every format, and none for a dry run", async () => {
  const created = await output(["create", "subscription", "--parent", server.root, "--sink", "https://a.example.com/"]);
  const rotate = ["deliveries", "rotate-signing-secret", "--uid", /uid: (\S+)/.exec(created)![1]!, "-o"];
  for (const format of ["table", "wide", "yaml", "json"]) expect(await output([...rotate, format])).toContain("whsec_");
  const { stdout, stderr } = await server.run([...rotate, "name"]);
  expect(stdout).toMatch(/^delivery-settings\/\S+\n$/);
  expect(stderr).toMatch(/: signing_secret: whsec_\S+ \(not shown again\)\n$/);
  expect(await output([...rotate, "json", "--validate-only"])).toContain('"signingSecret": ""');
});

test("a boolean field without a value is true", async () => {
  const invite = ["create", "group-invite", "--parent", server.root, "--role-uid", "viewer", "--ttl", "1h"];
  expect(await output([...invite, "--single-use"])).toContain("singleUse: true\n");
  expect(await output([...invite, "--single-use", "false"])).toContain("singleUse: false\n");
});

test("an etag is an option of update only", async () => {
  expect(await output(["create", "repo", "--help"])).not.toContain("--etag");
  expect(await output(["update", "repo", "--help"])).toContain("--etag");
});

test("value rules are checked before anything is sent", async () => {
  const { code, stderr } = await server.run(["create", "repo", "--parent", server.root, "--name", "UPPER"], {
    PLATFORM_SERVER: "http://127.0.0.1:1",
  });
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(/^error: name: /) });
});

test("all documents are checked before any is created, and errors have their lines", async () => {
  const file = join(server.folder, "several.yaml");
  await writeFile(file, "name: ok1\n---\nname: NOT OK\n---\nname: 1.50\n");
  const { code, stdout, stderr } = await server.run(["create", "repo", "--parent", server.root, "-f", file]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(
    /several\.yaml:3: name: name must .*\n.*several\.yaml:5: name: must be a string; quote it: "1\.50"/,
  );
  expect(await output(["list", "repos", "--name", "ok1", "-o", "name"])).toBe("");
});

test("an editor changes fields, is reopened with what is refused, and nothing saved changes nothing", async () => {
  await output(["create", "repo", "--parent", server.root, "--name", "edited", "--description", "old"]);
  const edit = ["update", "repo", "edited", "--edit"];
  expect(await output(edit, await editor("same", ":"))).toContain("description: old");
  const change = await editor(
    "change",
    `cp "$1" ${server.folder}/shown; sed -i 's/^description: .*/description: new/' "$1"`,
  );
  expect(await output(edit, change)).toContain("description: new");
  const twice = await editor(
    "twice",
    `if grep -q '^name: BAD' "$1"; then cp "$1" ${server.folder}/again; sed -i 's/^name: BAD/name: good/' "$1"; ` +
      `else sed -i 's/^name: .*/name: BAD/' "$1"; fi`,
  );
  expect(await output(edit, twice)).toContain("name: good");
  expect(await readFile(join(server.folder, "shown"), "utf8")).toMatch(
    /# Free text of at most 512 .*\ndescription: old/,
  );
  expect(await readFile(join(server.folder, "again"), "utf8")).toMatch(/^# name: /);
  const stubborn = await editor("stubborn", `sed -i 's/^name: .*/name: BAD/' "$1"`);
  expect(await server.run(["update", "repo", "good", "--edit"], stubborn)).toMatchObject({ code: 2 });
});

test.each<[string, string, number]>([
  ["a conflict", `UPDATE --description other >/dev/null; sed -i 's/^description: .*/description: mine/' "$1"`, 5],
  [
    "a refusal",
    `grep -q '^name: BAD' "$1" || sed -i 's/^name: .*/name: BAD/; s/^description: .*/description: mine/' "$1"`,
    2,
  ],
  ["an editor that is killed", `sed -i 's/^description: .*/description: mine/' "$1"; chmod 644 "$1"; kill -TERM $$`, 1],
])("after %s, what was edited is kept for its author alone", async (what, script, expected) => {
  const name = `kept-${what.replaceAll(" ", "-")}`;
  await output(["create", "repo", "--parent", server.root, "--name", name, "--description", "old"]);
  const update = `${program} update repo ${name}`;
  const { code, stderr } = await server.run(
    ["update", "repo", name, "--edit"],
    await editor(name, script.replace("UPDATE", update)),
  );
  expect(code).toBe(expected);
  const [, file = ""] = /^note: your changes are kept in (\S+); update -f sends them$/m.exec(stderr) ?? [];
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(file))).mode & 0o777).toBe(0o700);
  expect(await readFile(file, "utf8")).toContain("description: mine");
  if (expected === 5) expect(await output(["update", "repo", name, "-f", file])).toContain("description: mine");
  await rm(dirname(file), { recursive: true });
});

test("an editor that fails without saving leaves nothing", async () => {
  await output(["create", "repo", "--parent", server.root, "--name", "unsaved"]);
  const env = { ...(await editor("failing", "exit 3")), TMPDIR: server.folder };
  expect(await server.run(["update", "repo", "unsaved", "--edit"], env)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^error: nothing is changed: .* ended with 3\n$/),
  });
  expect((await readdir(server.folder)).filter((it) => it.startsWith("platform-edit-"))).toEqual([]);
});

test("a change in between is explained", async () => {
  await output(["create", "repo", "--parent", server.root, "--name", "raced"]);
  const { code, stderr } = await server.run([...["update", "repo", "raced", "--description", "x", "--etag", "stale"]]);
  expect({ code, stderr }).toMatchObject({
    code: 5,
    stderr: expect.stringContaining("somebody else changed it at the same time"),
  });
});
