/** `platform serve`, from the outside. */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { Agent } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { grpcRepos } from "../conformance/grpc-repos.ts";
import { freePort } from "../free-port.ts";
import { selfSigned } from "../http/self-signed.ts";
import {
  cleanEnvironment,
  repository,
  runPlatform,
  settingsIn,
  startPlatformForTest,
  temporaryFolder,
} from "./platform-process.ts";
import { programEntry } from "./program.ts";
import { restClient } from "./rest-client.ts";
import { runHere } from "./run-here.ts";

/** Why no terminal can be had for a test. */
const noTerminal = spawnSync("script", ["--version"]).error?.message;
if (noTerminal !== undefined) console.warn(`a start on a terminal is not tested: ${noTerminal}`);

describe("the first start", () => {
  test.skipIf(noTerminal !== undefined)(
    "on a terminal prints what to try, once, and it works when pasted",
    async () => {
      const { serve } = settingsIn(await temporaryFolder());
      const output = await startOnTerminal(serve);
      const { root } = /root group {11}(?<root>[0-9a-f]{40})\n/.exec(output)?.groups ?? {};
      await tryCommands(output, root);
    },
  );

  test("elsewhere prints no token and how to get one, or writes it to a file that only its owner can read", async () => {
    const cwd = await temporaryFolder();
    const { database, serve } = settingsIn(cwd);
    const first = await startPlatformForTest(serve);
    await expect.poll(first.stdout).toContain("`npx platform-api token` makes one");
    expect(first.stdout()).not.toMatch(/ey[\w-]+\.[\w-]+\./);
    expect((await runHere(["token", ...database])).code).toBe(0);

    const other = settingsIn(join(cwd, "other"));
    writeFileSync(join(cwd, "token"), "old", { mode: 0o644 });
    const second = await startPlatformForTest([...other.serve, "--init-token-file", "token"], { cwd });
    await expect.poll(second.stdout).toMatch(/In a browser: http:.*\n\n$/);
    expect(second.stdout()).toContain("export PLATFORM_TOKEN=$(cat token)\n");
    expect(statSync(join(cwd, "token")).mode & 0o777).toBe(0o600);
    const { root } = /root group {11}(?<root>[0-9a-f]{40})\n/.exec(second.stdout())?.groups ?? {};
    await tryCommands(second.stdout(), root, cwd);
    printMemory(second.pid);
  });

  test("that cannot write the token's file goes on without it", async () => {
    const { serve } = settingsIn(await temporaryFolder());
    const server = await startPlatformForTest([...serve, "--init-token-file", "/nowhere/token"]);
    await expect.poll(server.stdout).toContain("`npx platform-api token` makes one");
    expect(server.stderr()).toContain("warning: --init-token-file: ENOENT");
  });

  test("the second start prints its address and nothing else, and keeps everything", async () => {
    const { database, serve } = settingsIn(await temporaryFolder());
    const first = await startPlatformForTest(serve);
    const { stdout: token } = await runHere(["token", ...database]);
    await first.end("SIGTERM");
    const startMs = performance.now();
    const second = await startPlatformForTest(serve);
    console.log(`ready ${Math.round(performance.now() - startMs)} ms after it was started`);
    const answer = await fetch(`${second.baseUrl}/iam/v2/groups`, {
      headers: { authorization: `Bearer ${token.trim()}` },
    });
    expect(await answer.json()).toMatchObject({ totalCount: "1" });
    expect(second.stdout()).toBe(`platform listens on ${second.baseUrl}\n`);
  });

  test("its log never holds the token", async () => {
    const cwd = await temporaryFolder();
    const { serve } = settingsIn(cwd);
    const server = await startPlatformForTest([...serve, "--log-level", "debug", "--init-token-file", "token"], {
      cwd,
    });
    await expect.poll(() => existsSync(join(cwd, "token"))).toBe(true);
    const token = readFileSync(join(cwd, "token"), "utf8").trim();
    await fetch(`${server.baseUrl}/iam/v2/groups`, { headers: { authorization: `Bearer ${token}` } });
    expect(await server.end("SIGTERM")).toBe(0);
    const lines = server
      .stderr()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.map(({ msg }) => msg)).toEqual(expect.arrayContaining(["listening", "call", "stopping"]));
    expect(server.stderr()).not.toContain(token.split(".")[2]);
  });
});

test("it prints where it listens, and the base URL where that is another", async () => {
  const { serve } = settingsIn(await temporaryFolder());
  const server = await startPlatformForTest([...serve, "--base-url", "https://api.example.com"]);
  await expect
    .poll(server.stdout)
    .toMatch(/^platform listens on http:\/\/127\.0\.0\.1:\d+\nbase URL https:\/\/api\.example\.com\n/);
});

test("a database in memory serves, says that its data is discarded, and leaves nothing", async () => {
  const tmp = await temporaryFolder();
  const surroundings = { cwd: tmp, env: { TMPDIR: tmp } };
  const serve = ["--database", "sqlite::memory:", "--listen", "127.0.0.1:0", "--init-token-file", "token"];
  const server = await startPlatformForTest(serve, surroundings);
  await expect.poll(server.stdout).toContain("/registry/v2/repos\n");
  expect(server.stdout()).toContain("all data is discarded");
  const token = readFileSync(join(tmp, "token"), "utf8").trim();
  const rest = restClient(server.baseUrl, token);
  const root = (await rest.get("/iam/v2/groups")).body.groups[0].uid;
  expect((await rest.post(`/registry/v2/repos/${root}`, { name: "a" })).status).toBe(200);
  expect((await rest.get("/registry/v2/repos")).body.totalCount).toBe("1");
  expect(await server.end("SIGTERM")).toBe(0);
  expect(readdirSync(tmp)).toEqual(["token"]);
});

describe("what keeps it from starting is said in one line, with the setting", () => {
  test("a port in use", async () => {
    const { serve } = settingsIn(await temporaryFolder());
    const { baseUrl } = await startPlatformForTest(serve);
    const { database } = settingsIn(await temporaryFolder());
    const { host, port } = new URL(baseUrl);
    const { code, stdout, stderr } = await runPlatform(["serve", ...database, "--listen", host]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      new RegExp(`^error: --listen: port ${port} of 127.0.0.1 is in use, perhaps by another platform server; .*\\n$`),
    );
  });

  const tls = (cert: string, key: string) => ["--tls-cert", cert, "--tls-key", key];
  test.each([
    [
      "a certificate that is not there",
      tls("missing.pem", "key.pem"),
      /--tls-cert: missing\.pem cannot be read: ENOENT/,
    ],
    ["a key that is not there", tls("cert.pem", "missing.pem"), /--tls-key: missing\.pem cannot be read: ENOENT/],
    [
      "a certificate that is none",
      tls("junk.pem", "key.pem"),
      /--tls-cert: junk\.pem does not contain a PEM certificate/,
    ],
    ["a key that is none", tls("cert.pem", "junk.pem"), /--tls-key: junk\.pem does not contain a PEM private key/],
    [
      "a key of another certificate",
      tls("cert.pem", "other.pem"),
      /--tls-key: other\.pem is not the key of .* cert\.pem/,
    ],
    [
      "a folder where the database should be",
      ["--database", "sqlite:."],
      /--database: the database \. cannot be opened/,
    ],
    [
      "a file that is not a database",
      ["--database", "sqlite:junk.pem"],
      /--database: junk\.pem is not a SQLite database/,
    ],
    ["a folder that cannot be made", ["--database", "sqlite:/proc/nope/x.db"], /--database: .*\/proc\/nope.*ENOENT/],
    [
      "a database URL that is none",
      ["--database", "postgres://u:5ecre7@host:port/none"],
      /--database: the URL of the database cannot be used/,
    ],
    [
      "a database server that is not there",
      ["--database", "postgres://u:5ecre7@127.0.0.1:1/none", "--database-wait", "0s"],
      /--database: the database at 127\.0\.0\.1:1\/none cannot be reached: connect ECONNREFUSED/,
    ],
    [
      "an address that is not this machine's",
      ["--listen", "192.0.2.1:0"],
      /--listen: 192\.0\.2\.1 is not an address of this/,
    ],
  ])("%s", async (_what, args, expected) => {
    const cwd = await temporaryFolder();
    const { cert, key } = selfSigned();
    const files = {
      "junk.pem": "neither a certificate nor a database\n".repeat(100),
      "cert.pem": cert,
      "key.pem": key,
    };
    for (const [name, content] of Object.entries({ ...files, "other.pem": selfSigned().key }))
      writeFileSync(join(cwd, name), content);
    const { database, serve } = settingsIn(cwd);
    const more = args.includes("--database")
      ? ["--listen", "127.0.0.1:0"]
      : args.includes("--listen")
        ? database
        : serve;
    const { code, stdout, stderr } = await runPlatform(["serve", ...more, ...args], { cwd });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(stderr).toMatch(expected);
    expect(stderr).not.toContain("5ecre7");
  });

  test("with --log-level debug, and only then, the stack is printed too", async () => {
    const args = ["serve", "--listen", "127.0.0.1:0", "--database", "sqlite:/proc/nope/x.db", "--log-level"];
    expect((await runPlatform([...args, "info"])).stderr).not.toMatch(/^ +at /m);
    expect((await runPlatform([...args, "debug"])).stderr).toMatch(/^error: [^\n]+\n(?:.*\n)*? +at /);
  });
});

test("TLS: REST and gRPC on one port", async () => {
  const cwd = await temporaryFolder();
  const { cert, key } = selfSigned();
  writeFileSync(join(cwd, "cert.pem"), cert);
  writeFileSync(join(cwd, "key.pem"), key);
  const { database, serve } = settingsIn(cwd);
  const server = await startPlatformForTest([...serve, "--tls-cert", "cert.pem", "--tls-key", "key.pem"], { cwd });
  expect(server.baseUrl).toMatch(/^https:\/\/127\.0\.0\.1:/);
  const token = (await runHere(["token", ...database])).stdout.trim();
  for (const allowH2 of [false, true]) {
    const dispatcher = new Agent({ connect: { ca: cert, servername: "localhost" }, allowH2 });
    onTestFinished(() => dispatcher.close());
    const { statusCode, body } = await dispatcher.request({
      origin: server.baseUrl,
      method: "GET",
      path: "/iam/v2/groups",
      headers: { authorization: `Bearer ${token}` },
    });
    expect([statusCode, await body.json()]).toMatchObject([200, { totalCount: "1" }]);
  }
  const grpc = grpcRepos(`localhost:${new URL(server.baseUrl).port}`, token, credentials.createSsl(Buffer.from(cert)));
  onTestFinished(() => grpc.close());
  expect(await grpc.call("ListRepos", {})).toMatchObject({ total_count: "0" });
});

test("port 0 is any free port, and the host alone may be left out", async () => {
  const { database } = settingsIn(await temporaryFolder());
  const free = await freePort();
  const server = await startPlatformForTest(["serve", ...database, "--listen", `:${free}`].slice(1));
  expect(server.baseUrl).toBe(`http://127.0.0.1:${free}`);
});

/** Runs the commands that a first start prints, as a user would who pastes them. */
async function tryCommands(output: string, root: string | undefined, cwd?: string): Promise<void> {
  const variables = output.match(/^export PLATFORM_.+$/gm) ?? [];
  const commands = output.split("\n").flatMap((line) => /^ {2}((?:npx|curl) .*)/.exec(line)?.[1] ?? []);
  expect(commands).toHaveLength(3);
  const program = `${process.execPath} ${join(repository, "bin/platform.js")}`; // that npx finds it has its own test
  const [list, create, overRest] = commands.map((command) => {
    const script = command
      .replace(/^npx platform-api (.*)/, `${program} $1 -o json`)
      .replace(/^curl/, "curl -sS --fail");
    return JSON.parse(execFileSync("bash", ["-c", [...variables, script].join("\n")], { encoding: "utf8", cwd }));
  });
  expect(list).toMatchObject([{ uid: root, name: "platform" }]);
  expect(create).toMatchObject({ name: "my-repo", uid: expect.stringContaining(`${root}/`) });
  expect(overRest.repos).toEqual([create]);
}

/**
 * Starts a server whose standard output is a terminal, which the program `script` makes; all that it prints at its
 * start.
 */
async function startOnTerminal(serve: readonly string[]): Promise<string> {
  const command = [process.execPath, programEntry(), "serve", ...serve].join(" ");
  const terminal = spawn("script", ["--quiet", "--return", "--command", `exec ${command}`, "/dev/null"], {
    env: cleanEnvironment(),
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ended = once(terminal, "exit");
  onTestFinished(async () => {
    terminal.kill("SIGTERM");
    await ended;
  });
  let output = "";
  terminal.stdout.on("data", (chunk) => {
    output += String(chunk).replaceAll("\r\n", "\n");
  });
  await expect.poll(() => output).toMatch(/\/registry\/v2\/repos\n\n/);
  return output;
}

function printMemory(pid: number): void {
  if (process.platform !== "linux") return;
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  console.log(`an idle server holds ${Math.round(Number(kilobytes) / 1024)} MiB`);
}
