/** The TypeScript client of the package: its types, its bundles, and the Node versions that it runs on. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { publint } from "publint";
import * as vite from "vite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repository } from "../cli/platform-process.ts";
import { startWithFolder } from "../remote/server.ts";
import { installPackage, olderNode } from "./installed-package.ts";

/** Vitest sets the condition `development`, with which this package offers sources that Node does not read. */
const built = new URL("dist/index.js", import.meta.resolve("@arethetypeswrong/core/package.json"));
const { checkPackage, createPackageFromTarballData }: typeof import("@arethetypeswrong/core") = await import(
  built.href
);

const { dependencies } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
const peers = ["@connectrpc/connect", "@bufbuild/protobuf"].map((name) => `${name}@${dependencies[name]}`);

let installed: Awaited<ReturnType<typeof installPackage>>;
const inRoot = (...path: string[]) => join(installed.root, ...path);

/** Calls a server through each entry of the package. */
const program = `
import { createPlatformClient, PlatformError } from "@platform-api/client";
import { grpc } from "@platform-api/client/node";
const [server, token, parent] = process.argv.slice(2);
for (const transport of [undefined, grpc]) {
  const client = createPlatformClient({ server, token, ...(transport && { transport }) });
  const { uid } = await client.repos.create({ parent, repo: { name: "repo" } });
  for await (const { name } of client.repos.list({ uidp: { childrenOf: parent } })) console.log(name);
  await client.repos.delete(uid);
  try { await client.repos.get(uid); } catch (error) { console.log(error instanceof PlatformError, error.reason); }
}
`;
/** A program for browsers, with each service and with one. */
const browserPrograms = {
  "every service": `
import { createPlatformClient } from "@platform-api/client";
export const clientOf = (server, token) => createPlatformClient({ server, token });
`,
  "one service": `
import { createClientsOf, createPlatformTransport, ReposService } from "@platform-api/client";
export const clientOf = (server, token) => createClientsOf({ ReposService }, createPlatformTransport({ server, token }));
`,
};

beforeAll(async () => {
  installed = await installPackage("@platform-api/client", peers);
  writeFileSync(inRoot("program.mjs"), program);
}, 300_000);
afterAll(() => installed.remove());

test("publint has no remark", async () => {
  const { buffer } = new Uint8Array(readFileSync(installed.archive));
  expect((await publint({ pack: { tarball: buffer }, strict: true })).messages).toEqual([]);
});

test("the types resolve as the modules do", async () => {
  const archive = createPackageFromTarballData(new Uint8Array(readFileSync(installed.archive)));
  const result = await checkPackage(archive);
  if (result.types === false) return expect.unreachable("no types");
  // The package has ECMAScript modules only, which the resolution of Node 10 and require() of older versions do not
  // know.
  const known = ["NoResolution node10", "CJSResolvesToESM node16-cjs"];
  const found = result.problems.map((it) => ("resolutionKind" in it ? `${it.kind} ${it.resolutionKind}` : it.kind));
  expect(found.filter((problem) => !known.includes(problem))).toEqual([]);
});

const consumer = `
import { ConnectError } from "@connectrpc/connect";
import { type Capability, Code, createPlatformClient, PlatformError, type Repo, type Role } from "@platform-api/client";
const client = createPlatformClient({ server: "", token: "", retry: { maxAttempts: 2 } });
export const repo: Promise<Repo> = client.repos.get("uid");
export async function names(): Promise<string[]> {
  const found: string[] = [];
  for await (const role of client.roles.list({ pageSize: 200 })) found.push((role satisfies Role).name);
  return found;
}
export const isMissing = (error: unknown) => error instanceof PlatformError && error.code === Code.NotFound;
export const details = (error: PlatformError): readonly { field: string }[] => error.violations;
export const capabilities = (role: Role): Capability[] => role.capabilities;
export const failure: ConnectError = new PlatformError("");
// @ts-expect-error: there is no such method
client.roles.accept;
`;

const forNode = `${consumer}
import { grpc } from "@platform-api/client/node";
createPlatformClient({ server: "", transport: grpc });
`;
const browser = { lib: ["es2022", "dom"], types: [], skipLibCheck: false };
/** The types of Connect name one of the DOM library that those of Node lack. */
const node = { lib: ["es2022"], types: ["node"], skipLibCheck: true };

/** The compiler of this repository, and TypeScript 5.6, which does not know all types of Protobuf-ES. */
const compilers: readonly (readonly [program: string, ...args: string[]])[] = [
  [join(repository, "node_modules/.bin/tsc")],
  [createRequire(import.meta.resolve("@arethetypeswrong/core")).resolve("typescript/bin/tsc"), "--skipLibCheck"],
];

test.each([
  ["node16", "node16", "a browser", browser, consumer],
  ["esnext", "bundler", "a browser", browser, consumer],
  ["node16", "node16", "Node", node, forNode],
  ["esnext", "bundler", "Node", node, forNode],
])(
  "a strict program with module %s and moduleResolution %s for %s",
  (module, moduleResolution, name, libraries, source) => {
    const folder = inRoot(`${module} for ${name}`);
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "program.ts"), source);
    const compilerOptions = {
      ...libraries,
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
    for (const [compiler, ...args] of compilers)
      expect(spawnSync(compiler, [...args, "--project", folder], { encoding: "utf8" }).stdout, compiler).toBe("");
  },
);

test.each(compilers)("declarations of a program name exports of the package: %s", (compiler, ...args) => {
  const folder = inRoot(`declarations by ${args.length}`);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(
    join(folder, "program.ts"),
    `import { createClientsOf, createPlatformClient, createPlatformTransport, ReposService } from "@platform-api/client";
const server = "https://platform.example.com";
export const client = createPlatformClient({ server });
export const connect = async () => createPlatformClient({ server });
export const { repos } = client;
export const list = () => client.roles.list();
export const some = createClientsOf({ ReposService }, createPlatformTransport({ server }));
`,
  );
  const compilerOptions = { ...browser, module: "nodenext", target: "es2022", strict: true, declaration: true };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { ...compilerOptions, outDir: "out" } }),
  );
  expect(spawnSync(compiler, [...args, "--project", folder], { encoding: "utf8" }).stdout).toBe("");
  const declarations = readFileSync(join(folder, "out/program.d.ts"), "utf8");
  expect(declarations).toContain('export declare const client: import("@platform-api/client").PlatformClient;');
  expect(declarations).not.toContain("contract");
});

test.each([["this Node", process.execPath] as const, ["Node 20", undefined] as const])("%s", async (name, path) => {
  const older = olderNode();
  const node = path ?? (older !== undefined && older.version >= 20 ? older.path : undefined);
  if (node === undefined) return console.warn(`not tested: there is no ${name} on the PATH`);
  const server = await startWithFolder();
  const child = spawn(node, [inRoot("program.mjs"), server.server, server.token, server.root], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  await server.stop();
  expect(stderr).toBe("");
  expect(stdout).toBe("repo\ntrue NOT_FOUND\n".repeat(2));
});

describe.each(Object.entries(browserPrograms))("a bundle for browsers with %s", (name, source) => {
  const maxKilobytes = name === "one service" ? 45 : 75;

  async function check(tool: string, code: string): Promise<void> {
    const kilobytes = gzipSync(code, { level: 9 }).length / 1000;
    console.log(`${tool}, ${name}: ${kilobytes.toFixed(1)} kB compressed`);
    expect(kilobytes).toBeLessThan(maxKilobytes);
    expect(code).not.toMatch(/from ?"(?!\.)|import ?"|require\(|browser-external/);
    const file = inRoot(`${tool}-${name.replaceAll(" ", "-")}.mjs`);
    writeFileSync(file, code);
    const { clientOf } = await import(file);
    const server = await startWithFolder();
    try {
      const { totalCount } = await clientOf(server.server, server.token).repos.list().page();
      expect(totalCount).toBe(0n);
    } finally {
      await server.stop();
    }
  }
  const entryOf = (tool: string) => {
    const file = inRoot(`${tool}-${name.replaceAll(" ", "-")}-entry.js`);
    writeFileSync(file, source);
    return file;
  };

  test("by esbuild", async () => {
    const { outputFiles } = await esbuild.build({
      entryPoints: [entryOf("esbuild")],
      bundle: true,
      minify: true,
      format: "esm",
      platform: "browser",
      write: false,
    });
    await check("esbuild", outputFiles[0]!.text);
  });

  test("by Vite", async () => {
    const built = await vite.build({
      configFile: false,
      root: installed.root,
      logLevel: "error",
      build: {
        write: false,
        minify: true,
        lib: { entry: entryOf("vite"), formats: ["es"], fileName: "bundle" },
      },
    });
    const [{ output }] = built as unknown as [{ output: [{ code: string }] }];
    await check("vite", output[0].code);
  });
});
