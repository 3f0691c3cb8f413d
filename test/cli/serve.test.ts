/** `platform serve`, from the outside. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { Agent } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { grpcRepos } from "../conformance/grpc-repos.ts";
import { selfSigned } from "../server/self-signed.ts";
import { runPlatform, settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";

describe("the first start", () => {
  test("prints what to try, once, and it works when pasted", async () => {
    const { serve } = settingsIn(await temporaryFolder());
    const server = await startPlatformForTest(serve);
    await expect.poll(server.stdout).toMatch(/repos\/[0-9a-f]{40}\n\n$/);
    const { groups } = /root group {11}(?<root>[0-9a-f]{40})\n/.exec(server.stdout()) ?? {};
    const [setToken] = /^export TOKEN=\S+$/m.exec(server.stdout()) ?? [];
    const commands = server
      .stdout()
      .split("\n")
      .flatMap((line) => /^ {2}(curl .*)/.exec(line)?.[1] ?? []);
    expect(commands).toHaveLength(3);
    const [ping, list, create] = commands.map((command) =>
      JSON.parse(paste(`${setToken}\n${command} -sS --fail-with-body`)),
    );
    expect(ping).toEqual({ response: "pong" });
    expect(list.groups).toMatchObject([{ uid: groups?.root, name: "platform" }]);
    expect(create).toMatchObject({ name: "my-repo", uid: expect.stringContaining(`${groups?.root}/`) });
    printMemory(server.pid);
  });

  test("the second start prints its address and nothing else, and keeps everything", async () => {
    const { database, serve } = settingsIn(await temporaryFolder());
    const first = await startPlatformForTest(serve);
    const { stdout: token } = await runPlatform(["token", ...database]);
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
    const { serve } = settingsIn(await temporaryFolder());
    const server = await startPlatformForTest([...serve, "--log-level", "debug"]);
    await expect.poll(server.stdout).toContain("TOKEN=");
    const token = /TOKEN=(\S+)/.exec(server.stdout())?.[1] ?? "";
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

describe("what keeps it from starting is said in one line", () => {
  test("a port in use", async () => {
    const { serve } = settingsIn(await temporaryFolder());
    const { baseUrl } = await startPlatformForTest(serve);
    const { database } = settingsIn(await temporaryFolder());
    const { host } = new URL(baseUrl);
    const { code, stdout, stderr } = await runPlatform(["serve", ...database, "--listen", host]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^error: .*address already in use ${host}\n$`));
  });

  test.each([
    ["a certificate that is not there", ["--tls-cert", "missing.pem", "--tls-key", "missing.pem"], /missing\.pem/],
    ["a certificate that is none", ["--tls-cert", "junk.pem", "--tls-key", "junk.pem"], /PEM|junk/i],
    ["a folder where the database should be", ["--database", "sqlite:."], /database|\./],
    ["a file that is no database", ["--database", "sqlite:junk.pem"], /not a database/],
    ["a database server that is not there", ["--database", "postgres://127.0.0.1:1/none"], /ECONNREFUSED/],
    ["an address that is not this machine's", ["--listen", "192.0.2.1:0"], /192\.0\.2\.1/],
  ])("%s", async (_what, args, expected) => {
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, "junk.pem"), "this is neither a certificate nor a database\n".repeat(100));
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
  const token = (await runPlatform(["token", ...database])).stdout.trim();
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

/** Runs lines in a shell as a user would. */
function paste(lines: string): string {
  return execFileSync("bash", ["-c", lines], { encoding: "utf8" });
}

function printMemory(pid: number): void {
  if (process.platform !== "linux") return;
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  console.log(`an idle server holds ${Math.round(Number(kilobytes) / 1024)} MiB`);
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
