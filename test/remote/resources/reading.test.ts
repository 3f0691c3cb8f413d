/** `platform get`, `list`, `call` and the methods of services, against a real server. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { contractCatalog } from "../../../src/remote/catalog/contract.ts";
import { contractServices } from "../../../src/remote/catalog/descriptors.ts";
import { kebab } from "../../../src/remote/catalog/resources.ts";
import { runHere } from "../../cli/run-here.ts";
import { startWithFolder } from "../server.ts";

let server: Awaited<ReturnType<typeof startWithFolder>>;

beforeAll(async () => {
  server = await startWithFolder();
  for (const name of ["alpha", "beta", "gamma"])
    await output(["create", "repo", "--parent", server.root, "--name", name]);
});
afterAll(() => server.stop());

async function output(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await server.run(args);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}

describe("list", () => {
  test("prints a table, whose columns come from the resource", async () => {
    const [heading, ...rows] = (await output(["list", "repos", "--order-by", "name"])).trimEnd().split("\n");
    expect(heading).toMatch(/^NAME +UID +CREATE-TIME$/);
    expect(rows.map((row) => row.split(/ +/)[0])).toEqual(["alpha", "beta", "gamma"]);
    expect(rows[0]).toMatch(/^alpha {2}[0-9a-f]{40}\/[0-9a-f]{16} {2}\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  test.each(["repo", "repos", "Repos", "REPO"])("takes the name %s", async (name) => {
    expect((await output(["list", name, "-o", "name"])).split("\n")).toHaveLength(4);
  });

  test("prints JSON, YAML and names", async () => {
    const json = JSON.parse(await output(["list", "repos", "--order-by", "name desc", "-o", "json"]));
    expect(json.map(({ name }: { name: string }) => name)).toEqual(["gamma", "beta", "alpha"]);
    expect((await output(["list", "repos", "-o", "yaml"])).split("---\n")).toHaveLength(3);
    expect(await output(["list", "repos", "--filter", "name=beta", "-o", "name"])).toMatch(/^repo\/\S+\n$/);
    expect(JSON.parse(await output(["list", "repos", "--name", "none", "-o", "json"]))).toEqual([]);
  });

  test("prints a page, and tells how many more there are; all pages with --all", async () => {
    const { stdout, stderr } = await server.run(["list", "repos", "--limit", "2", "-o", "name"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(stderr).toBe("1 more: --all prints them, --limit 3 too\n");
    expect((await output(["list", "repos", "--all", "-o", "name"])).trimEnd().split("\n")).toHaveLength(3);
    expect((await output(["list", "repos", "--skip", "2", "-o", "name"])).trimEnd().split("\n")).toHaveLength(1);
  });

  test("prints what a JSONPath template of kubectl says, of all items or of one resource", async () => {
    const names = ["-o", 'jsonpath={range .items[*]}{.name}{"\\t"}{.activeTags}{"\\n"}{end}'];
    expect(await output(["list", "repos", "--order-by", "name", ...names])).toBe("alpha\t[]\nbeta\t[]\ngamma\t[]\n");
    expect(await output(["get", "repo", "beta", "-o=jsonpath=<{.name}>"])).toBe("<beta>");
    expect(await output(["get", "repo", "beta", "alpha", "-o", "jsonpath={.items[1].name}"])).toBe("alpha");
    const call = ["call", "platform.registry.v2.ReposService/ListRepos", "--field", "name=beta"];
    expect(await output([...call, "-o", "jsonpath={.repos[0].name} of {.totalCount}"])).toBe("beta of 1");
  });

  test("prints columns that the caller chooses", async () => {
    const columns = "custom-columns=THE NAME:.name,TIER:{.catalogTier},X:.x";
    expect(await output(["list", "repos", "--order-by", "name", "-o", columns])).toBe(
      ["alpha", "beta", "gamma"].reduce(
        (text, name) => `${text}${name.padEnd(8)}   CATALOG_TIER_UNSPECIFIED   <none>\n`,
        "THE NAME   TIER                       X\n",
      ),
    );
    const call = ["call", "platform.registry.v2.ReposService/ListRepos", "--field", "name=beta"];
    expect(await output([...call, "-o", "custom-columns=N:name"])).toBe("N\nbeta\n");
  });

  test("sorts all by a field before it takes the first", async () => {
    const sorted = ["list", "repos", "-o", "jsonpath={.items[*].name}", "--order-by", "name desc", "--sort-by"];
    expect(await output([...sorted, ".name"])).toBe("alpha beta gamma");
    expect(await server.run([...sorted, "{.name}", "--limit", "2"])).toMatchObject({
      stdout: "alpha beta",
      stderr: "1 more: --all prints them, --limit 3 too\n",
    });
  });

  test.each([
    [["-o", "jsonpath={.name"], "JSONPath: } is expected at the end"],
    [["-o", "custom-columns=NAME"], "custom-columns must be like NAME:.name,UID:.uid"],
    [["-o", "xml"], "Allowed choices are table, wide, json, yaml, name, documents, jsonpath=, custom-columns=."],
    [["--sort-by", ".a["], "JSONPath: *, a number"],
  ])("%j is refused before any call", async (args, message) => {
    const offline = { PLATFORM_SERVER: "http://127.0.0.1:1" };
    const { code, stderr } = await server.run(["list", "repos", ...args], offline);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  test("prints documents only of what can be applied", async () => {
    const offline = { PLATFORM_SERVER: "http://127.0.0.1:1" };
    expect(await server.run(["list", "advisories", "-o", "documents"], offline)).toMatchObject({
      code: 2,
      stderr: "error: -o documents: advisories have none: the API cannot create or change them\n",
    });
    const sortedByNothing = await server.run(["list", "repos", "--sort-by", "nothing"]);
    expect(sortedByNothing).toMatchObject({
      code: 2,
      stderr: "error: --sort-by: none of the repos has such a field\n",
    });
  });

  test("takes names of groups for the hierarchy", async () => {
    const { name } = JSON.parse(await output(["get", "group", server.root, "-o", "json"]));
    expect((await output(["list", "repos", "--below", name, "-o", "name"])).split("\n")).toHaveLength(4);
    expect((await output(["list", "repos", "--parent", name, "-o", "name"])).split("\n")).toHaveLength(4);
  });
});

test("help lists the filters of a resource with their comments and values", async () => {
  const { stdout } = await runHere(["list", "artifacts", "--help"]);
  expect(stdout).toMatch(
    /\nFilters, also as --filter NAME=VALUE:\n +--ecosystems <VALUE> +The ecosystems to list, at least one\.\s+\(java,/,
  );
  expect((await runHere(["list", "repos", "--help"])).stdout.replace(/\s+/g, " ")).toContain(
    "besides uidp.ancestors_of,",
  );
  expect((await runHere(["list", "--help"])).stdout.replace(/\s+/g, " ")).toContain(
    "`platform list RESOURCES --help` has the names",
  );
});

test("required fields of a list may be filters", async () => {
  expect(await output(["list", "artifacts", "--filter", "ecosystems=java", "-o", "json"])).toBe("[]\n");
});

test("get finds by name and by uid, one or several", async () => {
  expect(await output(["get", "repo", "alpha"])).toMatch(/^uid +[0-9a-f/]{57}\nname +alpha\n/);
  const { uid } = JSON.parse(await output(["get", "repo", "alpha", "-o", "json"]));
  expect(JSON.parse(await output(["get", "repos", uid, "beta", "-o", "json"]))).toMatchObject([
    { uid },
    { name: "beta" },
  ]);
});

test("names have paths, wherever a name is taken", async () => {
  const root = await output(["get", "group", server.root, "-o", "jsonpath={.name}"]);
  const create = async (...args: string[]) => (await output(["create", ...args, "-o", "name"])).trim().split("/", 1);
  await create("group", "--parent", root, "--name", "team");
  await create("group", "--parent", "team", "--name", "prod");
  await create("group", "--parent", `/${root}`, "--name", "other");
  for (const parent of ["team/prod", "other"]) {
    await create("repo", "--parent", parent, "--name", "nginx");
    await create("repo", "--parent", parent, "--name", "library/nginx");
  }
  const digest = `sha256:${"a".repeat(64)}`;
  await create("tag", "--parent", "prod/library/nginx", "--name", "1.0", "--digest", digest);

  const pathOf = async (...args: string[]) =>
    /^parent: (.*)\nspec:\n {2}name: '?(.*?)'?$/m
      .exec(await output(["get", ...args, "-o", "documents"]))
      ?.slice(1)
      .join("/");
  const nginx = `/${root}/team/prod/nginx`;
  for (const name of ["prod/nginx", "team/prod/nginx", `${root}/team/prod/nginx`, nginx])
    expect(await pathOf("repo", name)).toBe(nginx);
  expect(await pathOf("repo", "nginx", "--parent", "prod")).toBe(nginx);
  expect(await pathOf("repo", "prod/nginx", "--parent", "team")).toBe(nginx);
  expect(await pathOf("repo", "library/nginx", "--parent", "team/prod")).toBe(`/${root}/team/prod/library/nginx`);
  expect(await pathOf("tag", "prod/library/nginx/1.0")).toBe(`/${root}/team/prod/library/nginx/1.0`);
  expect(await pathOf("role", "/viewer")).toBe(undefined);
  expect(await output(["get", "role", "/viewer", "-o", "jsonpath={.name}"])).toBe("viewer");
  expect(await output(["list", "repos", "--below", "team", "-o", "jsonpath={.items[*].name}"])).toContain("nginx");
  expect(await output(["update", "repo", "nginx", "--parent", "prod", "--description", "x"])).toContain(
    "description: x",
  );
  expect(await output(["get", "repo-readme", "library/nginx", "--parent", "other"])).toMatch(/^uid /);
  expect(await output(["wait", "repo", "nginx", "--parent", "other", "--for", "exists"])).toMatch(/ exists\n$/);

  const refusals: readonly (readonly [string[], number, string])[] = [
    [["repo", "nginx"], 2, `2 repos are named nginx: ${nginx}, /${root}/other/nginx`],
    [["repo", "nginx", "--parent", "team"], 3, "no repo is named nginx in --parent"],
    [["repo", "/team/prod/nginx"], 3, "no repo is named /team/prod/nginx"],
    [["repo", "od/nginx"], 3, "no repo is named od/nginx"],
    [["repo", "other/"], 3, "no repo is named other/"],
    [["group", `${"a".repeat(300)}/team`], 3, `no group is named ${"a".repeat(300)}/team`],
  ];
  for (const [args, code, message] of refusals)
    expect(await server.run(["get", ...args])).toMatchObject({ code, stderr: `error: ${message}\n` });

  await output(["delete", "repo", "nginx", "library/nginx", "--parent", "other", "--yes"]);
  expect(await pathOf("repo", "nginx")).toBe(nginx);
  await output(["delete", "tag", "library/nginx/1.0", "--yes"]);
  for (const name of ["nginx", "library/nginx"]) await output(["delete", "repo", name, "--yes"]);
});

test("a resource of which its parent has one is named by its parent", async () => {
  const { uid } = JSON.parse(await output(["get", "repo", "beta", "-o", "json"]));
  expect(await output(["update", "repo-readme", "beta", "--content", "# beta"])).toContain("content: '# beta'");
  expect(JSON.parse(await output(["get", "repo-readme", "beta", "-o", "json"]))).toMatchObject({ uid });
  expect(await output(["get", "repo-readme", uid])).toMatch(/^content +# beta$/m);
  expect(await output(["wait", "repo-readme", "beta", "--for", "exists", "--within", "5"])).toContain(uid);
  expect(await server.run(["get", "repo-readme", "delta"])).toMatchObject({
    code: 3,
    stderr: "error: no repo is named delta\n",
  });
});

test("resources and custom methods have commands of their names", async () => {
  const printed = await output(["resources"]);
  expect(printed).toContain("role-bindings ");
  const [, commands = ""] = printed.split(/^COMMAND .*\n/m);
  expect(commands).toMatch(/^access-service +explain, list$/m);
  for (const line of commands.trim().split("\n")) {
    const [command = "", methods = ""] = line.split(/ {2,}/);
    for (const method of methods === "" ? [[]] : methods.split(", ").map((name) => [name]))
      expect(await output([command, ...method, "--help"])).toMatch(/^Usage: platform .*\n.* {2}--server/s);
  }
  expect(await output(["ping"])).toContain("pong");
  expect(await output(["ping", "-o", "json"])).toContain('"response": "pong"');
  const lookup = ["identities", "lookup", "--issuer", "https://issuer.example.com", "--subject", "bot"];
  expect(await output([...lookup, "-o", "json"])).toMatch(/"uid": "[0-9a-f]{40}"/);
  expect(await server.run(["group-invites", "accept", "--code", "wrong"])).toMatchObject({ code: 3 });
});

test("methods take names in the place of uids, and services of one name have one command", async () => {
  const size = ["images", "get-size", "--digest", `sha256:${"a".repeat(64)}`, "--repo-uid"];
  expect(await server.run([...size, "nothing"])).toMatchObject({
    code: 3,
    stderr: "error: no repo is named nothing\n",
  });
  expect(await server.run([...size, "beta"])).toMatchObject({ code: 3, stderr: expect.stringContaining("request id") });
  expect((await output(["images", "--help"])).match(/^ {2}(get-size|compare) /gm)).toHaveLength(2);
});

test("list has what is no resource, too", async () => {
  expect(JSON.parse(await output(["list", "access", "--scope", "platform", "-o", "json"]))).not.toEqual([]);
  expect(JSON.parse(await output(["list", "audit-records", "--limit", "1", "-o", "json"]))).toHaveLength(1);
  expect(JSON.parse(await output(["list", "event-types", "--all", "-o", "json"])).length).toBeGreaterThan(20);
});

test("responses that are lists are printed like lists", async () => {
  const byName = ["--prefix", "alpha", "-o"];
  expect(await output(["search", "names", ...byName, "table"])).toMatch(
    /^NAME +UID +TYPE\nalpha +[0-9a-f/]{57} +registry\.platform\.internal\/Repo\n$/,
  );
  expect(await output(["search", "names", ...byName, "name"])).toMatch(/^repo\/[0-9a-f/]{57}\n$/);
  const list = ["call", "platform.iam.v2.RolesService/ListRoles", "--field", "page_size=2", "-o"];
  expect(await output([...list, "name"])).toMatch(/^(role\/[0-9a-f]{40}\n){2}$/);
  expect((await server.run([...list, "table"])).stderr).toMatch(/^note: there are more: page_token=\S+\n$/);
  expect(JSON.parse(await output([...list, "json"]))).toMatchObject({
    roles: [{}, {}],
    nextPageToken: expect.stringMatching(/./),
  });
  const older = ["call", "platform.iam.v1.Roles/List", "-o", "name"];
  expect(await output(older)).toMatch(/^(role\/[0-9a-f]{40}\n)+$/);
  expect(await server.run(["ping", "-o", "name"])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/has no uid/),
  });
});

test("tables print the names of what resources refer to", async () => {
  const create = ["create", "group-invite", "--parent", server.root, "--role-uid", "viewer", "--ttl", "1h"];
  await output(create);
  expect(await output(["list", "group-invites"])).toMatch(/^UID +ROLE .*\n\S+ +viewer /);
  expect(await output(["list", "group-invites", "-o", "wide"])).toMatch(/^UID .*ROLE-UID .*\n\S+ .*[0-9a-f]{40} /);
  expect(await output(["list", "role-bindings"])).toMatch(/^UID +IDENTITY +GROUP +ROLE .*\n\S+ +administrator /);
});

describe("every operation of the contract", () => {
  const methods = contractServices()
    .filter(({ typeName }) => typeName.startsWith("platform."))
    .flatMap((service) => service.methods)
    .filter(({ methodKind }) => methodKind === "unary");

  test("whose request comes in pieces has a command of its own", async () => {
    const { code, stderr } = await runHere(["call", "platform.findings.v1.DocumentsService/UploadSbom"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("see platform upload --help")]);
  });

  test("is called by platform call", async () => {
    expect(methods.length).toBeGreaterThan(100);
    for (const { parent, name } of methods) {
      const { code, stderr } = await server.run(["call", `${parent.typeName}/${name}`]);
      expect({ name, code, stderr }).not.toMatchObject({ code: 2 });
      expect(stderr).not.toMatch(/has no method|internal error/);
    }
  });

  test("has a command by its verb and resource, or by its service, in the newest version", async () => {
    const { resources, services } = contractCatalog();
    const commands = [
      ...resources.flatMap(({ singular, methods: own }) =>
        Object.keys(own)
          .filter((verb) => !verb.startsWith("Batch"))
          .map((verb) => [kebab(verb), singular]),
      ),
      ...services.flatMap(({ service, customMethods }) =>
        [...customMethods.keys()].map((method) => [
          kebab(service.name),
          ...(customMethods.has("ping") ? [] : [method]),
        ]),
      ),
    ];
    for (const words of commands) {
      const { code, stdout } = await runHere([...words, "--help"]);
      expect({ words, code, isHelp: stdout.startsWith(`Usage: platform ${words[0]}`) }).toEqual({
        words,
        code: 0,
        isHelp: true,
      });
    }
  });
});

describe("failures", () => {
  test.each<[string, string[], number, RegExp]>([
    ["an unknown resource", ["list", "repoz"], 2, /^error: there is no resource "repoz"; did you mean repos?\?/],
    [
      "a method that a resource lacks",
      ["list", "repo-readme"],
      2,
      /^error: repo-readmes have no list, only get, update\n$/,
    ],
    [
      "an unknown filter",
      ["list", "repos", "--filter", "nam=x"],
      2,
      /^error: --filter: there is no nam; did you mean name\?/,
    ],
    [
      "no results",
      ["list", "repos", "--limit", "0"],
      2,
      /^error: option '--limit <NUMBER>' argument '0' is invalid\. It must be a whole number from 1\.\n$/,
    ],
    ["a limit on all", ["list", "repos", "--limit", "1", "--all"], 2, /^error: option '--all' cannot be used with/],
    ["a filter without a value", ["list", "repos", "--filter", "name"], 2, /name=value/],
    ["a name that nothing has", ["get", "repo", "delta"], 3, /^error: no repo is named delta\n$/],
    ["a uid that nothing has", ["get", "repo", "0".repeat(40)], 3, /^error: Not found: .*\nrequest id: /s],
    ["a wrong token", ["list", "repos", "--token", "wrong"], 4, /^error: Unauthenticated: .*\nhint: .*--token/s],
    ["a list without what it needs", ["list", "artifacts"], 2, /^error: --ecosystems is required\n$/],
    [
      "a list without several things that it needs",
      ["list", "resolved-vulns-reports"],
      2,
      /^error: --start-time, --end-time are required\n$/,
    ],
    ["a method without what it needs", ["artifacts", "get-count"], 2, /^error: --ecosystems is required\n$/],
    ["a value that a rule forbids", ["identities", "lookup", "--issuer", "x"], 2, /^error: .*subject/],
    [
      "a value that the server refuses",
      ["list", "repos", "--order-by", "size"],
      7,
      /^error: Invalid argument: order_by/,
    ],
    [
      "an unknown method",
      ["call", "platform.iam.v2.RolesService/ListRole"],
      2,
      /did you mean platform\.iam\.v2\.RolesService\//,
    ],
    ["a request that is not JSON", ["call", "platform.ping.v2.PingService/Ping", "-d", "{"], 2, /^error: --data: /],
    [
      "a server that is not there",
      ["ping", "--server", "http://127.0.0.1:1"],
      6,
      /^error: cannot reach http:\/\/127.0.0.1:1 /,
    ],
    [
      "an address that is not a URL",
      ["ping", "--server", "localhost"],
      2,
      /^error: --server must be an http or https URL/,
    ],
  ])("%s", async (_, args, code, stderr) => {
    const outcome = await server.run(args);
    expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code, stdout: "" });
    expect(outcome.stderr).toMatch(stderr);
  });

  test("a server that does not answer in time", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { code, stderr } = await runHere(["ping", "--server", url, "--timeout", "0.1"]);
    expect({ code, stderr }).toEqual({ code: 6, stderr: expect.stringMatching(/^error: .*timed out\n$/) });
    silent.closeAllConnections();
    silent.close();
  });
});
