/** Servers and commands whose standard error or standard output cannot be written. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../free-port.ts";
import { cleanEnvironment, temporaryFolder } from "./platform-process.ts";
import { programEntry } from "./program.ts";

/** The ends of a pipe, both non-blocking. */
async function openPipe(): Promise<{ readonly reader: number; readonly writer: number }> {
  const path = join(await temporaryFolder(), "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) };
}

function fill(writer: number): void {
  try {
    for (;;) writeSync(writer, Buffer.alloc(65_536, "x\n"));
  } catch {} // it is full
}

/** What stands for standard output and standard error: a descriptor, or the end of a socket that nobody reads. */
type Destination = number | "pipe";
const destinations: Readonly<Record<string, () => Promise<Destination>>> = {
  async "a full pipe"() {
    const { reader, writer } = await openPipe();
    onTestFinished(() => closeSync(reader));
    fill(writer);
    return writer;
  },
  async "a closed pipe"() {
    const { reader, writer } = await openPipe();
    closeSync(reader);
    return writer;
  },
  "a socket that nobody reads": async () => "pipe",
  "a full disk": async () => openSync("/dev/full", "w"),
};

interface Server {
  readonly url: string;
  readonly admin: string;
  readonly process: ChildProcess;
}

async function start(to: Destination, more: readonly string[] = []): Promise<Server> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const admin = `127.0.0.1:${adminPort}`;
  const settings = ["--database", "sqlite::memory:", "--listen", `${port}`, "--log-format", "json"];
  const child = spawn(process.execPath, [programEntry(), "serve", ...settings, ...more], {
    env: { ...cleanEnvironment(), PLATFORM_ADMIN_LISTEN: admin },
    stdio: ["ignore", to, to],
  });
  if (to !== "pipe") closeSync(to);
  onTestFinished(() => void child.kill("SIGKILL"));
  const server = { url: `http://127.0.0.1:${port}`, admin: `http://${admin}`, process: child };
  await expect.poll(() => statusOf(`${server.url}/readyz`)).toBe(200);
  return server;
}

const statusOf = (url: string) =>
  fetch(url).then(
    ({ status }) => status,
    () => undefined,
  );

async function stop({ process: child }: Server): Promise<number | null> {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
  return child.exitCode;
}

/** Makes calls whose lines are more than what is held. */
async function logMuch({ url }: Server): Promise<void> {
  const { host, port } = new URL(url);
  const call = `GET /ping/v2/ping HTTP/1.1\r\nhost: ${host}\r\nx-request-id: ${"i".repeat(128)}\r\n`;
  const socket = connect(Number(port), "127.0.0.1");
  socket.write(`${`${call}\r\n`.repeat(7999)}${call}connection: close\r\n\r\n`);
  expect((await text(socket)).split("HTTP/1.1 200").length - 1).toBe(8000);
}

async function lostLines({ admin }: Server): Promise<number> {
  const metrics = await (await fetch(`${admin}/metrics`)).text();
  return Number(/^platform_log_lost_total (\d+)$/m.exec(metrics)?.[1]);
}

test.each(Object.entries(destinations))("a server whose log is %s serves, counts and stops", async (_, open) => {
  const server = await start(await open());
  await logMuch(server);
  await expect.poll(() => lostLines(server)).toBeGreaterThan(0);
  expect(await statusOf(`${server.url}/livez`)).toBe(200);
  expect(await stop(server)).toBe(0);
});

test("workers whose log is a full pipe serve and stop", async () => {
  const server = await start(await destinations["a full pipe"]!(), ["--workers", "2"]);
  await logMuch(server);
  expect(await statusOf(`${server.url}/livez`)).toBe(200);
  expect(await stop(server)).toBe(0);
});

test("lines are written again once a pipe is read", async () => {
  const { reader, writer } = await openPipe();
  fill(writer);
  const server = await start(writer);
  const read = () => {
    const piece = Buffer.alloc(65_536);
    let all = "";
    try {
      for (let bytes = -1; bytes !== 0; all += piece.toString("latin1", 0, bytes)) bytes = readSync(reader, piece);
    } catch {} // there is no more now
    return all;
  };
  let all = "";
  await expect.poll(() => (all += read())).toContain('"msg":"listening"');
  expect(await stop(server)).toBe(0);
  all += read();
  closeSync(reader);
  expect(all).toContain('"msg":"stopping"');
  for (const line of all.split("\n").filter((line) => line.startsWith("{"))) JSON.parse(line);
});

test.each([1, 2])("a server of %i processes stops when its terminal is closed", async (workers) => {
  const port = await freePort();
  const file = join(await temporaryFolder(), "pid");
  const settings = `--database sqlite::memory: --listen ${port} --workers ${workers} --log-level debug`;
  const command = `echo $$ > ${file}; exec ${process.execPath} ${programEntry()} serve ${settings}`;
  const terminal = spawn("script", ["--quiet", "--command", command, "/dev/null"], {
    env: { ...cleanEnvironment(), SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "ignore"],
  });
  await expect.poll(() => statusOf(`http://127.0.0.1:${port}/readyz`)).toBe(200);
  const pid = Number(readFileSync(file, "utf8"));
  const runs = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  onTestFinished(() => void (runs() && process.kill(pid, "SIGKILL")));
  terminal.kill("SIGKILL");
  await expect.poll(runs).toBe(false);
  expect(await statusOf(`http://127.0.0.1:${port}/livez`)).toBe(undefined);
});

test("a command whose output and errors go nowhere ends", async () => {
  const child = spawn(process.execPath, [programEntry(), "--help"], {
    env: cleanEnvironment(),
    stdio: ["ignore", openSync("/dev/full", "w"), openSync("/dev/full", "w")],
  });
  await once(child, "exit");
  expect(child.exitCode).toBe(1);
});
