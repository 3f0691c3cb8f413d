/**
 * What the Dockerfile puts into the image, without an engine: the package as it is packed from the build context, and
 * Node. It runs as a user who may write to its folder of data only.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cleanEnvironment, repository } from "../cli/platform-process.ts";
import { copyContext } from "./image-context.ts";

const dockerfile = readFileSync(join(repository, "Dockerfile"), "utf8");
/** The user of the image, if this process can become another. */
const user = process.getuid?.() === 0 ? { uid: 65532, gid: 65532 } : {};
if (user.uid === undefined) console.warn("the image's user is not tested: only root can become another user");

let root: string;
const inRoot = (...path: string[]) => join(root, ...path);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "platform-image-"));
  chmodSync(root, 0o755);
  for (const folder of ["source", "packed", "app", "data"]) mkdirSync(inRoot(folder));
  copyContext(inRoot("source"));
  symlinkSync(join(repository, "node_modules"), inRoot("source/node_modules"));
  const run = (command: string, args: string[], cwd: string) => execFileSync(command, args, { cwd, stdio: "pipe" });
  // The steps of the Dockerfile.
  const [, pack] = /^RUN (npm run pack .*)$/m.exec(dockerfile)!;
  const [, unpack] = /^RUN (tar .*\n(?: {2}&& .*\n)*?) {2}&& mkdir \/data$/m.exec(dockerfile)!;
  const here = (step: string) => step.replaceAll("/tmp", inRoot("packed"));
  run("sh", ["-c", here(pack!)], inRoot("source"));
  run("sh", ["-c", here(unpack!).replace(/ \\\n$/, "")], inRoot("app"));
  copyFileSync(process.execPath, inRoot("node"));
  chmodSync(inRoot("node"), 0o755);
  if (user.uid !== undefined) chownSync(inRoot("data"), user.uid, user.gid);
}, 300_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Starts the program as the image does. */
function start(args: string[], env: Record<string, string> = {}) {
  const settings = { NODE_ENV: "production", PLATFORM_LISTEN: "127.0.0.1:0", ...env };
  const clean = Object.fromEntries(Object.entries(cleanEnvironment()).filter(([name]) => !name.startsWith("NODE_")));
  const child = spawn(inRoot("node"), [inRoot("app/bin/platform.js"), ...args], {
    cwd: root,
    env: { ...clean, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
    ...user,
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

test("it starts, makes a database in its folder, serves, and ends with status 0 at SIGTERM", async () => {
  const server = start(["serve"], { PLATFORM_INIT_TOKEN_FILE: inRoot("data/token") });
  let errors = "";
  server.stderr.on("data", (text) => (errors += text));
  const [text] = await Promise.race([once(server.stdout, "data"), once(server, "exit").then(() => [errors])]);
  const [, baseUrl] = /^platform listens on (\S+)/.exec(String(text)) ?? [];
  expect(baseUrl, errors).toBeDefined();
  expect((await fetch(`${baseUrl}/livez`)).status).toBe(200);
  const token = readFileSync(inRoot("data/token"), "utf8").trim();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const { groups } = (await (await fetch(`${baseUrl}/iam/v2/groups?uidp.in_root=true`, { headers })).json()) as {
    groups: { uid: string }[];
  };
  const created = await fetch(`${baseUrl}/registry/v2/repos/${groups[0]!.uid}`, {
    method: "POST",
    headers,
    body: '{"name":"my-repo"}',
  });
  expect(created.status).toBe(200);
  expect((await fetch(`${baseUrl}/docs`)).status).toBe(200);
  server.kill("SIGTERM");
  expect(await once(server, "exit")).toEqual([0, null]);
  expect(readdirSync(inRoot("data"))).toContain("platform.db");
});

test("its commands run, also those that start another process", async () => {
  for (const args of [["--version"], ["token", "--help"], ["import", "--help"], ["migrate"]]) {
    const command = start(args);
    expect(await once(command, "exit"), args.join(" ")).toEqual([0, null]);
  }
});

test.skipIf(user.uid === undefined)("it cannot write to what it runs", async () => {
  const child = start(["serve"], { PLATFORM_DATABASE: `sqlite:${inRoot("app/other.db")}` });
  expect((await once(child, "exit"))[0]).not.toBe(0);
});

test("with its base it is at most 170 MB", () => {
  const sizeOf = (folder: string): number =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  const app = sizeOf(inRoot("app"));
  const node = statSync(inRoot("node")).size;
  const base = 25_000_000; // libc, libstdc++, OpenSSL, certificates and time zones of Debian
  console.log(`app ${Math.round(app / 1e6)} MB, node ${Math.round(node / 1e6)} MB`);
  expect(app + node + base).toBeLessThan(170_000_000);
});
