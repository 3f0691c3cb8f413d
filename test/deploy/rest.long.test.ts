/**
 * The transcoder of the package, installed from its archive into an empty folder: the examples of docs/rest.md, under
 * each runtime that they name.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http2";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { repository } from "../cli/platform-process.ts";
import { freePort } from "../free-port.ts";
import { blocksOf } from "../recipes/recipe.ts";
import { installPackage, olderNode } from "./installed-package.ts";

let installed: Awaited<ReturnType<typeof installPackage>>;
const inRoot = (...path: string[]) => join(installed.root, ...path);
const examples = blocksOf(readFileSync(join(repository, "docs/rest.md"), "utf8")).filter(({ path }) => path !== "");
const exampleOf = (path: string) => examples.find((block) => block.path === path)!.content;
const { express, fastify, koa } = manifest.devDependencies;
/** The runtimes besides Node, with the versions that they were tried with. */
const runtimes = ["deno@2.9.6", "bun@1.4.5"];

/** Installs packages. Returns whether that succeeded. */
function install(...packages: string[]): boolean {
  const args = ["install", "--no-audit", "--no-fund", "--foreground-scripts", ...packages];
  return spawnSync("npm", args, { cwd: installed.root, stdio: "pipe" }).status === 0;
}

/** Generates the code of ELIZA, as a stranger does: with that of the annotations. */
function generate(): void {
  const source = inRoot("source");
  execFileSync(process.execPath, ["proto/deps.mjs"], { cwd: source });
  const modules = { version: "v2", modules: [{ path: "test/examples" }, { path: ".proto-deps" }] };
  const plugin = {
    local: join(repository, "node_modules/.bin/protoc-gen-es"),
    out: "gen",
    opt: ["target=js+dts", "import_extension=js"],
  };
  const config = [
    "--config",
    JSON.stringify(modules),
    "--template",
    JSON.stringify({ version: "v2", plugins: [plugin] }),
  ];
  const buf = join(repository, "node_modules/.bin/buf");
  const paths = ["--path", "test/examples/eliza.proto", "--include-imports", "--output", installed.root];
  execFileSync(buf, ["generate", ...config, ...paths], { cwd: source });
}

beforeAll(async () => {
  installed = await installPackage();
  writeFileSync(
    inRoot("package.json"),
    JSON.stringify({ ...JSON.parse(readFileSync(inRoot("package.json"), "utf8")), type: "module" }),
  );
  if (!install(`express@${express}`, `fastify@${fastify}`, `koa@${koa}`)) throw new Error("npm install failed");
  generate();
}, 480_000);
afterAll(() => installed.remove());

/** Runs an example until the test ends. Returns its origin, when it answers. */
async function serve(
  example: string,
  [program, ...args]: string[],
  replaced: Record<string, string> = {},
): Promise<string> {
  const port = String(await freePort());
  let text = exampleOf(example).replaceAll("8080", port);
  for (const [from, to] of Object.entries(replaced)) text = text.replaceAll(from, to);
  const file = `${port}-${example}`;
  writeFileSync(inRoot(file), text);
  writeFileSync(inRoot("routes.js"), exampleOf("routes.js"));
  const child = spawn(program!, [...args.map((arg) => arg.replace("PORT", port)), file], {
    cwd: installed.root,
    env: { PATH: process.env.PATH, HOME: inRoot("home"), NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  onTestFinished(async () => {
    if (child.exitCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "close");
  });
  const origin = `http://localhost:${port}`;
  await expect
    .poll(async () => {
      if (child.exitCode !== null) return `ended: ${output}`;
      return fetch(origin).then(
        () => "answers",
        () => output,
      );
    })
    .toBe("answers");
  return origin;
}

/** What docs/rest.md says that ELIZA answers. */
async function expectEliza(origin: string): Promise<void> {
  const answer = async (path: string, init?: RequestInit) => {
    const response = await fetch(origin + path, init);
    return [response.status, await response.text()];
  };
  const said = '{"sentence":"You said: Hello"}';
  expect(await answer("/v1/sentences/Hello")).toEqual([200, said]);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  expect(await answer("/v1/sentences", { method: "POST", headers, body: '{"sentence": "Hello"}' })).toEqual([
    200,
    said,
  ]);
  expect(await answer("/v1/people/Ada/introduction")).toEqual([
    200,
    '[{"sentence":"Hi Ada."},{"sentence":"I\'m Eliza."}]',
  ]);
  expect((await answer("/v1/sentences/Hello?nope=1"))[0]).toBe(400);
}

const node = [process.execPath];
const hosts = ["node.js", "express.js", "fastify.js", "koa.js"];

test.each(hosts)("%s under this Node", async (example) => {
  const origin = await serve(example, node);
  await expectEliza(origin);
  if (example !== "node.js") expect(await (await fetch(`${origin}/own`)).json()).toBe("own");
});

test.each(hosts)("%s has at most ten lines", (example) => {
  expect(exampleOf(example).trimEnd().split("\n").length).toBeLessThanOrEqual(10);
});

// Fastify and Koa generate code themselves.
test.each(["node.js", "express.js"])("%s without code generation from strings", async (example) => {
  await expectEliza(await serve(example, [...node, "--disallow-code-generation-from-strings"]));
});

test.each(hosts)("%s under Node 20", async (example) => {
  const older = olderNode();
  if (older === undefined || older.version < 20) return console.warn("not tested: there is no Node 20 on the PATH");
  await expectEliza(await serve(example, [older.path]));
});

describe("fetch.js", () => {
  test("under Node, without code generation from strings", async () => {
    writeFileSync(inRoot("routes.js"), exampleOf("routes.js"));
    writeFileSync(inRoot("fetch.js"), exampleOf("fetch.js"));
    const program = `
      import handler from ${JSON.stringify(pathToFileURL(inRoot("fetch.js")).href)};
      for (const path of ["/v1/sentences/Hello", "/v1/people/Ada/introduction"])
        console.log(await (await handler.fetch(new Request("http://localhost" + path))).text());`;
    const args = ["--disallow-code-generation-from-strings", "--input-type=module", "--eval", program];
    expect(execFileSync(process.execPath, args, { encoding: "utf8" })).toBe(
      '{"sentence":"You said: Hello"}\n[{"sentence":"Hi Ada."},{"sentence":"I\'m Eliza."}]\n',
    );
  });

  test.each(runtimes)("under %s", async (runtime) => {
    const name = runtime.split("@")[0]!;
    const program = inRoot("node_modules/.bin", name);
    if (!install(runtime) || !existsSync(program)) return console.warn(`not tested: npm does not carry ${runtime}`);
    const probe = spawnSync(program, ["--version"], { encoding: "utf8", cwd: installed.root });
    if (probe.status !== 0) return console.warn(`not tested: ${runtime} does not run here: ${probe.stderr}`);
    console.log(`${name} ${probe.stdout.trim()}`);
    const origin = await serve("fetch.js", name === "deno" ? [program, "serve", "--port", "PORT"] : [program]);
    for (let i = 0; i < 20; i++) {
      await expectEliza(origin);
      expect((await fetch(origin)).status).toBe(404);
    }
  });
});

test("gateway.js calls a remote server by gRPC", async () => {
  const { ElizaService } = await import(inRoot("gen/eliza_pb.js"));
  writeFileSync(inRoot("routes.js"), exampleOf("routes.js"));
  const { routes } = await import(inRoot("routes.js"));
  expect(ElizaService.typeName).toBe("connectrpc.eliza.v1.ElizaService");
  const server = createServer(connectNodeAdapter({ routes }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  await expectEliza(await serve("gateway.js", node, { "127.0.0.1:9090": `127.0.0.1:${port}` }));
});

test("it needs nothing but Protobuf-ES, Connect and Node", () => {
  const folder = inRoot("node_modules/platform-api/dist/rest");
  const files = globSync(`${folder}/**/*.js`);
  expect(files.length).toBeGreaterThan(30);
  const imports = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/from "([^.][^"]*)"/g)].map(([, name]) => name!),
  );
  const packages = new Set(imports.map((name) => name.replace(/^(@[^/]+\/[^/]+).*$/, "$1")));
  expect([...packages].sort()).toEqual([
    "@bufbuild/protobuf",
    "@connectrpc/connect",
    "node:events",
    "node:stream",
    "node:util",
    "node:zlib",
  ]);
});

test.each([
  ["node16", "node16"],
  ["esnext", "bundler"],
])("a strict program with module %s and moduleResolution %s", (module, moduleResolution) => {
  const folder = inRoot(`types ${module}`);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(
    join(folder, "program.ts"),
    `
import { createServer } from "node:http";
import * as http2 from "node:http2";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import { createFetchHandler, createRestHandler, fromRouter, type RestOptions } from "platform-api/rest";
import { ElizaService } from "../gen/eliza_pb.js";
const routes = ({ service }: ConnectRouter) => service(ElizaService, { say: ({ sentence }) => ({ sentence }) });
const options: RestOptions = {
  ...fromRouter(routes),
  json: { enumAsInteger: true },
  errors: ({ code, rawMessage }, httpStatus) => ({ code: Code[code], httpStatus, rawMessage }),
  timeoutMs: ({ name }) => (name === "Say" ? 1000 : undefined),
  rewriteAnswer: (answer, { method }) => ({ ...answer, httpStatus: method.idempotency === 1 ? 200 : 201 }),
};
createServer(createRestHandler(options));
http2.createServer(createRestHandler(options));
export const handler: (request: Request) => Promise<Response> = createFetchHandler(options);
// @ts-expect-error: there is no such form
createRestHandler({ ...options, errors: "xml" });
`,
  );
  const compilerOptions = {
    lib: ["es2023"],
    types: ["node"],
    skipLibCheck: true,
    module,
    moduleResolution,
    target: "es2022",
    typeRoots: [join(repository, "node_modules/@types")],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  const tsc = join(repository, "node_modules/.bin/tsc");
  expect(spawnSync(tsc, ["--project", folder], { encoding: "utf8" }).stdout).toBe("");
});
