/**
 * The package of the transcoder, installed from its archive into an empty folder: its README, and the examples of
 * docs/rest.md under each runtime that they name.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http2";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Validator } from "@seriousme/openapi-schema-validator";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { repository } from "../cli/platform-process.ts";
import { freePort } from "../free-port.ts";
import { blocksOf } from "../recipes/recipe.ts";
import { installPackage, olderNode } from "./installed-package.ts";

let installed: Awaited<ReturnType<typeof installPackage>>;
const inRoot = (...path: string[]) => join(installed.root, ...path);
const examples = ["docs/rest.md", "docs/openapi.md"].flatMap((page) =>
  blocksOf(readFileSync(join(repository, page), "utf8")).filter(({ path }) => path !== ""),
);
const exampleOf = (path: string) => examples.find((block) => block.path === path)!.content;
const { express, fastify, koa } = manifest.devDependencies;
const versionOf = (name: keyof typeof manifest.dependencies) => `${name}@${manifest.dependencies[name]}`;
const peers = [versionOf("@connectrpc/connect"), versionOf("@bufbuild/protobuf")];
/** The runtimes besides Node, with the versions that they were tried with. */
const runtimes = ["deno@2.9.6", "bun@1.4.5"];
const hono = ["hono@4.13.19", "@hono/node-server@2.1.9"];
const next = [
  "next@16.4.6",
  `react@${manifest.devDependencies.react}`,
  `react-dom@${manifest.devDependencies["react-dom"]}`,
];
/** The runtime of Cloudflare Workers. */
const workerd = "workerd@1.20261117.1";

/** Installs packages. Returns whether that succeeded. */
function install(...packages: string[]): boolean {
  const args = ["install", "--no-audit", "--no-fund", "--foreground-scripts", ...packages];
  return spawnSync("npm", args, { cwd: installed.root, stdio: "pipe" }).status === 0;
}

/** Installs a runtime. Returns its program; undefined, with a warning that says why, if there is none. */
function installRuntime(runtime: string): string | undefined {
  const program = inRoot("node_modules/.bin", runtime.split("@")[0]!);
  if (!install(runtime) || !existsSync(program)) return void console.warn(`not tested: npm does not carry ${runtime}`);
  const probe = spawnSync(program, ["--version"], { encoding: "utf8", cwd: installed.root });
  if (probe.status !== 0) return void console.warn(`not tested: ${runtime} does not run here: ${probe.stderr}`);
  console.log(`${runtime}: ${probe.stdout.trim()}`);
  return program;
}

/** Generates the code of ELIZA and of the library of `test/rest`, with the annotations that the package has. */
function generate(): void {
  mkdirSync(inRoot("protos"));
  for (const path of ["test/examples/eliza.proto", "test/rest/fixture.proto"])
    copyFileSync(join(repository, path), inRoot("protos", basename(path)));
  const modules = { version: "v2", modules: [{ path: "protos" }, { path: "node_modules/@platform-api/rest/proto" }] };
  const plugin = {
    local: join(repository, "node_modules/.bin/protoc-gen-es"),
    out: "gen",
    include_imports: true,
    opt: ["target=js+dts", "import_extension=js"],
  };
  const template = { version: "v2", inputs: [{ directory: "protos" }], plugins: [plugin] };
  const args = ["generate", "--config", JSON.stringify(modules), "--template", JSON.stringify(template)];
  execFileSync(join(repository, "node_modules/.bin/buf"), args, { cwd: installed.root });
}

beforeAll(async () => {
  installed = await installPackage("@platform-api/rest", peers);
  writeFileSync(
    inRoot("package.json"),
    JSON.stringify({ ...JSON.parse(readFileSync(inRoot("package.json"), "utf8")), type: "module" }),
  );
  if (
    !install(versionOf("@connectrpc/connect-node"), `express@${express}`, `fastify@${fastify}`, `koa@${koa}`, ...hono)
  )
    throw new Error("npm install failed");
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
  return run([program!, ...args.map((arg) => arg.replace("PORT", port)), file], port);
}

/** Runs a program until the test ends. Returns its origin, when it answers at the port. */
async function run([program, ...args]: string[], port: string): Promise<string> {
  const child = spawn(program!, args, {
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

test("the plugin of protoc answers an empty request under Node 20 and this Node", () => {
  for (const program of [process.execPath, olderNode()?.path ?? process.execPath]) {
    const plugin = inRoot("node_modules/@platform-api/rest/bin/protoc-gen-openapi-rest.js");
    const { status, stderr } = spawnSync(program, [plugin], { input: "", encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  }
});

const node = [process.execPath];
const hosts = ["node.js", "express.js", "fastify.js", "koa.js", "hono.js"];

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
    const program = installRuntime(runtime);
    if (program === undefined) return;
    const name = runtime.split("@")[0]!;
    const origin = await serve("fetch.js", name === "deno" ? [program, "serve", "--port", "PORT"] : [program]);
    for (let i = 0; i < 20; i++) {
      await expectEliza(origin);
      expect((await fetch(origin)).status).toBe(404);
    }
  });
});

describe("a Worker", () => {
  /** The program of the runtime, and the settings of the example. */
  let program: string | undefined;
  const settings = exampleOf("wrangler.toml");
  beforeAll(() => {
    program = installRuntime(workerd);
  }, 120_000);

  /** Bundles a program as Wrangler does, and runs it. */
  async function work(file: string): Promise<string> {
    const port = String(await freePort());
    const outfile = inRoot(`${port}.js`);
    const conditions = ["workerd", "worker", "browser"];
    await build({
      entryPoints: [inRoot(file)],
      bundle: true,
      format: "esm",
      external: ["node:*"],
      conditions,
      outfile,
    });
    const [, date] = /^compatibility_date = (".*")$/m.exec(settings)!;
    const [, flags] = /^compatibility_flags = (.*)$/m.exec(settings)!;
    const config = `using Workerd = import "/workerd/workerd.capnp";
      const config :Workerd.Config = (
        services = [(name = "main", worker = (
          modules = [(name = "main", esModule = embed "${port}.js")],
          compatibilityDate = ${date}, compatibilityFlags = ${flags},
        ))],
        sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
      );`;
    writeFileSync(inRoot(`${port}.capnp`), config);
    return run([program!, "serve", inRoot(`${port}.capnp`)], port);
  }

  test("serves fetch.js", async (context) => {
    if (program === undefined) return context.skip(`${workerd} cannot be installed`);
    writeFileSync(inRoot("routes.js"), exampleOf("routes.js"));
    const [, file] = /^main = "(.*)"$/m.exec(settings)!;
    writeFileSync(inRoot(file!), exampleOf("fetch.js"));
    const origin = await work(file!);
    await expectEliza(origin);
    expect((await fetch(origin)).status).toBe(404);
  });

  test("takes bodies, fails with a status, streams, ends a stream with its client, and has CORS", async (context) => {
    if (program === undefined) return context.skip(`${workerd} cannot be installed`);
    writeFileSync(inRoot("library-worker.js"), readFileSync(join(repository, "test/deploy/library-worker.js")));
    const origin = await work("library-worker.js");
    const answer = async (
      path: string,
      method = "GET",
      body?: string | Uint8Array | ReadableStream,
      headers: Record<string, string> = {},
    ) => {
      const init = { method, headers, ...(body !== undefined && { body, duplex: "half" }) };
      const response = await fetch(origin + path, init as RequestInit);
      return [response.status, await response.text()];
    };
    const json = { "content-type": "application/json" };
    const text = '{"stringValue":"é"}';
    expect(await answer("/v1/echo", "POST", text, json)).toEqual([200, text]);
    const coded = { ...json, "content-encoding": "gzip" };
    expect(await answer("/v1/echo", "POST", gzipSync(text), coded)).toEqual([200, text]);
    expect((await answer("/v1/echo", "POST", JSON.stringify("x".repeat(100_000)), json))[0]).toBe(413);
    const image = { "content-type": "image/png" };
    expect(await answer("/v1/files/a/b", "PUT", "picture", image)).toEqual([200, "picture"]);
    const pieces = ReadableStream.from(Array.from({ length: 10 }, () => new Uint8Array(50_000)));
    expect(await answer("/v1/uploads/a", "POST", pieces, image)).toEqual([200, "image/png: 500000"]);
    expect((await answer("/v1/images/5"))[0]).toBe(404);
    expect(await answer("/v1/watch?count=2&fail_after=1")).toEqual([503, expect.stringContaining('"gone"')]);
    expect(await answer("/v1/watch?count=2&fail_after=2")).toEqual([200, expect.stringContaining('{"error":{')]);

    const stream = (await fetch(`${origin}/v1/watch?count=100000`)).body!.getReader();
    expect((await stream.read()).value!.length).toBeGreaterThan(10_000);
    expect(await answer("/v1/repos/a")).toEqual([200, '{"uid":"a"}']);
    await stream.cancel();
    await expect.poll(() => answer("/v1/repos/a")).toEqual([200, '{"uid":"a","total":"1"}']);

    const asks = { origin: "https://app.example.com", "access-control-request-method": "POST" };
    const preflight = await fetch(`${origin}/v1/echo`, { method: "OPTIONS", headers: asks });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, asks.origin]);
  });
});

test("a route handler of Next.js", { timeout: 300_000 }, async (context) => {
  if (!install(...next)) return context.skip(`npm does not carry ${next[0]}`);
  const file = "app/api/[...path]/route.js";
  mkdirSync(dirname(inRoot(file)), { recursive: true });
  writeFileSync(inRoot(file), exampleOf(file));
  writeFileSync(inRoot("routes.js"), exampleOf("routes.js"));
  const program = inRoot("node_modules/next/dist/bin/next");
  const env = { PATH: process.env.PATH, HOME: inRoot("home"), NEXT_TELEMETRY_DISABLED: "1" };
  execFileSync(process.execPath, [program, "build"], { cwd: installed.root, env, stdio: "pipe" });
  const port = String(await freePort());
  const origin = await run([process.execPath, program, "start", "--hostname", "localhost", "--port", port], port);
  await expectEliza(`${origin}/api`);
  const unknown = await fetch(`${origin}/api/nope`);
  expect([unknown.status, ((await unknown.json()) as { code: number }).code]).toEqual([404, 5]);
  for (const method of ["DELETE", "OPTIONS", "PATCH", "POST", "PUT"]) {
    const refused = await fetch(`${origin}/api/v1/sentences/Hello`, { method });
    expect([refused.status, refused.headers.get("allow")], method).toEqual([405, "GET, HEAD"]);
  }
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

test("openapi.js serves the document of what it serves, under Node 20 and this Node", async () => {
  for (const program of [process.execPath, olderNode()?.path ?? process.execPath]) {
    const origin = await serve("openapi.js", [program]);
    await expectEliza(`${origin}/api`);
    const document = (await (await fetch(`${origin}/openapi.json`)).json()) as { paths: object };
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
    expect(Object.keys(document.paths)).toContain("/api/v1/sentences/{sentence}");
  }
});

test("it needs nothing but Protobuf-ES, Connect and Node", () => {
  const folder = inRoot("node_modules/@platform-api/rest");
  const files = globSync(`${folder}/{src,gen}/**/*.js`, { exclude: (file) => String(file).includes("openapi") });
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
import { createOpenApi, type OpenApiDocument } from "@platform-api/rest/openapi";
import { createFetchHandler, createRestHandler, fromRouter, type RestOptions } from "@platform-api/rest";
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
export const document: OpenApiDocument = createOpenApi(options, { info: { title: "Eliza", version: "1" } });
// @ts-expect-error: a document has a title
createOpenApi(options, { info: { version: "1" } });
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
