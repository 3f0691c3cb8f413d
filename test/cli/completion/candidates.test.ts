/** What `platform __complete` answers, against a real server. */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { contractCatalog } from "../../../src/remote/catalog/contract.ts";
import { startWithFolder } from "../../remote/server.ts";
import { startStub } from "../../remote/stub-server.ts";
import { runHere } from "../run-here.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;

beforeAll(async () => {
  server = await startWithFolder();
  for (const name of ["my team", "ops"]) await server.run(["create", "group", "--parent", server.root, "--name", name]);
  for (const [parent, name] of [
    ["ops", "reader"],
    ["my team", "twice"],
    ["ops", "twice"],
  ] as const)
    await server.run(["create", "role", "--parent", parent, "--name", name, "--capabilities", "cap-repo-list"]);
});
afterAll(() => server.stop());

/** The values, without descriptions. */
async function completions(words: readonly string[], env: Record<string, string> = {}): Promise<string[]> {
  const { code, stdout, stderr } = await server.run(["__complete", "--", ...words], {
    PLATFORM_COMPLETION_TIMEOUT: "60", // a busy machine can pause
    ...env,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const [mode, ...lines] = stdout.trimEnd().split("\n");
  return mode === "words" ? lines.map((line) => line.split("\t")[0]!) : [mode!];
}

test.each<[string, string[], string[]]>([
  ["commands of every kind", [""], ["get", "serve", "proto", "help", "group-invites"]],
  ["methods of a service", ["group-invites", ""], ["accept"]],
  ["commands of a command", ["import", ""], ["registry"]],
  ["resources of a command that writes", ["create", ""], ["role", "roles"]],
  ["options of the command", ["list", "-"], ["--server", "--output", "--all", "--help"]],
  ["options of the resource", ["list", "repos", "--"], ["--name"]],
  ["options of fields", ["create", "identity", "--"], ["--parent", "--claim-match.issuer"]],
  ["choices", ["list", "roles", "-o", ""], ["table", "wide", "json", "yaml", "name"]],
  ["choices behind =", ["list", "roles", "--output="], ["--output=json"]],
  ["choices of an offline command", ["completion", ""], ["bash", "zsh", "fish"]],
  ["enum values", ["update", "repo", "x", "--catalog-tier", ""], ["application", "base"]],
  ["the next enum value of a list", ["create", "role", "--capabilities", "cap-a,"], ["cap-a,cap-iam-roles-list"]],
  ["booleans", ["call", "platform.ping.v2.PingService/Ping", "-o", ""], ["json"]],
  ["fields to clear", ["update", "role", "x", "--clear", "name", ""], ["description"]],
  ["names of filters", ["list", "roles", "--filter", ""], ["name=", "uidp."]],
  ["names of filters in messages", ["list", "roles", "--filter", "uidp."], ["uidp.children_of="]],
  ["methods", ["call", ""], ["platform.iam.v2.RolesService/ListRoles"]],
  ["conditions", ["wait", "role", "x", "--for", ""], ["exists", "deleted", "name="]],
  ["conditions of messages", ["wait", "repo", "x", "--for", "sync_config."], ["sync_config.unique_tags="]],
  ["values of conditions", ["wait", "repo", "x", "--for", "catalog_tier="], ["catalog_tier=base"]],
  ["names to wait for", ["wait", "role", ""], ["reader"]],
  ["names", ["get", "role", ""], ["reader"]],
  ["further names", ["delete", "group", "ops", ""], ["my team", "ops"]],
  ["names of parents", ["create", "role", "--parent", ""], ["my team", "ops"]],
  ["names of groups for --below", ["list", "repos", "--below", ""], ["my team", "ops"]],
  ["names in fields that refer to a resource", ["create", "role-binding", "--role-uid", ""], ["reader"]],
])("%s", async (_, words, some) => {
  const found = await completions(words);
  expect(found).toEqual(expect.arrayContaining(some));
  expect(found).toEqual([...new Set(found)]);
});

test.each(["Get", "List"] as const)(
  "everything in the contract that has a %s, in singular and plural",
  async (verb) => {
    const { resources, views } = contractCatalog();
    const names = [...resources, ...views]
      .filter(({ methods }) => methods[verb])
      .flatMap((it) => [it.singular, it.plural]);
    expect(await completions([verb.toLowerCase(), ""])).toEqual([...new Set(names)]);
  },
);

test("a path in the place of a name that several have, and a uid of what may be one", async () => {
  const found = await completions(["get", "role", ""]);
  expect(found).not.toContain("twice");
  expect(found.filter((value) => value.includes("/")).sort()).toEqual([
    "/platform/my team/twice",
    "/platform/ops/twice",
  ]);
  const [group] = JSON.parse((await server.run(["list", "groups", "-o", "json"])).stdout);
  expect(await completions(["get", "group", group.uid.slice(0, 6)])).toContain(group.uid);
});

test.each<[string, string[]]>([
  ["-f", ["apply", "-f", ""]],
  ["a further -f", ["apply", "-f", "a.yaml", ""]],
  ["--filename=", ["apply", "--filename="]],
  ["an offline command", ["backup", ""]],
])("files are left to the shell: %s", async (_, words) => {
  expect(await completions(words)).toEqual(["files"]);
});

test.each<[string, string[]]>([
  ["a command that there is not", ["nothing", ""]],
  ["free text", ["create", "role", "--name", ""]],
  ["a resource without names, of which there are none", ["get", "delivery-settings", ""]],
  ["an unknown resource", ["get", "nothing", ""]],
  ["more arguments than there are", ["list", "roles", ""]],
  ["a server that is not there", ["get", "role", "--server", "http://127.0.0.1:1", ""]],
  ["a server that is not a URL", ["get", "role", "--server=x", ""]],
  ["a token that is refused", ["get", "role", "--token", "wrong", ""]],
])("nothing for %s", async (_, words) => {
  expect(await completions(words)).toEqual([]);
});

test("paths go on after a slash: with what is of the kind, and what it may be in", async () => {
  const create = (...words: string[]) => server.run(["create", ...words]);
  await create("group", "--parent", "ops", "--name", "deep");
  await create("repo", "--parent", "ops/deep", "--name", "a/b");
  await create("tag", "--parent", "a/b", "--name", "v1", "--digest", `sha256:${"a".repeat(64)}`);
  expect(await completions(["get", "repo", "ops/"])).toEqual(["ops/deep/"]);
  expect(await completions(["get", "repo", "ops/deep/"])).toEqual(["ops/deep/a/b"]);
  expect(await completions(["get", "tag", "ops/deep/a/"])).toEqual(["ops/deep/a/b/"]);
  expect(await completions(["get", "tag", "ops/deep/a/b/"])).toEqual(["ops/deep/a/b/v1"]);
  expect(await completions(["list", "roles", "--below", "/platform/o"])).toEqual(["/platform/ops"]);
  expect(await completions(["get", "role", "/view"])).toEqual(["/viewer"]);
  expect(await completions(["get", "repo", "nothing/"])).toEqual([]);
});

test("names are found by their beginning, however many there are", async () => {
  const names = Array.from({ length: 215 }, (_, i) => `many-${i}`);
  const file = join(server.folder, "many.yaml");
  await writeFile(file, names.map((name) => `name: ${name}\n`).join("---\n"));
  expect(await server.run(["create", "repo", "--parent", "ops", "-f", file, "-o", "name"])).toMatchObject({ code: 0 });
  const wanted = names.filter((name) => name.startsWith("many-21"));
  expect((await completions(["get", "repo", "many-21"])).sort()).toEqual(wanted.sort());
  expect((await completions(["list", "tags", "--parent=many-214"])).sort()).toEqual(["--parent=many-214"]);
  expect(await completions(["get", "repo-readme", "many-214"])).toEqual(["many-214"]);
});

test.each([
  ["has no search", [501, { code: "unimplemented" }]],
  ["does not search the type", [400, { code: "invalid_argument" }]],
] as const)("a server that %s is asked for its list", async (_, refusal) => {
  const roles = [{ uid: "0a".repeat(20), name: "reader" }];
  const { url, stop } = await startStub(({ types }) => (types === undefined ? [200, { roles }] : refusal));
  onTestFinished(stop);
  expect(await completions(["get", "role", "rea"], { PLATFORM_SERVER: url })).toEqual(["reader"]);
});

test("a server that does not answer is given up", async () => {
  const silent = createServer(() => {});
  await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
  const env = {
    PLATFORM_COMPLETION_TIMEOUT: "",
    PLATFORM_SERVER: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
  };
  expect(await completions(["get", "role", ""], env)).toEqual([]);
  silent.closeAllConnections();
  silent.close();
});

test("names with control characters are not offered", async () => {
  const names = ["a\u001b[31m", "b\nc", "", "d"];
  const roles = names.map((name, i) => ({ uid: String(i), name }));
  const { url, stop } = await startStub(() => [200, { roles }]);
  onTestFinished(stop);
  expect(await completions(["get", "role", ""], { PLATFORM_SERVER: url })).toEqual(["d"]);
});

test("the hidden command is not listed", async () => {
  expect((await runHere(["--help"])).stdout).not.toContain("__complete");
  expect(await completions([""])).not.toContain("__complete");
});
