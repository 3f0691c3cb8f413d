/** `npm start`, stopped by signals: they reach the server behind npm and its shell, which finishes its calls. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { cleanEnvironment, repository, settingsIn, temporaryFolder } from "./platform-process.ts";

interface Started {
  /** The first process that was started; it leads a process group of its own. */
  readonly leader: ChildProcess;
  readonly baseUrl: string;
  /** Settled when all processes that wrote to its standard error are gone. */
  readonly stderr: Promise<string>;
}

async function start(command: string, args: readonly string[]): Promise<Started> {
  const [, database] = settingsIn(await temporaryFolder()).database;
  const leader = spawn(command, args, {
    cwd: repository,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...cleanEnvironment(), PLATFORM_LISTEN: "127.0.0.1:0", PLATFORM_DATABASE: database },
  });
  onTestFinished(() => {
    if (isGroupAlive(leader)) process.kill(-leader.pid!, "SIGKILL");
  });
  const stderr = text(leader.stderr!);
  let stdout = "";
  const baseUrl = await new Promise<string>((resolve, reject) => {
    leader.stdout!.on("data", (chunk) => {
      stdout += chunk;
      const found = /^platform listens on (\S+)$/m.exec(stdout)?.[1];
      if (found !== undefined) resolve(found);
    });
    leader.once("exit", () => reject(new Error(`it ended: ${stdout}`)));
  });
  return { leader, baseUrl, stderr };
}

function isGroupAlive({ pid }: ChildProcess): boolean {
  try {
    return process.kill(-pid!, 0);
  } catch {
    return false;
  }
}

/** Begins a call; `finish` sends the last byte of it and gives the status line. */
async function halfSentCall(baseUrl: string): Promise<{ finish(): Promise<string> }> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname).setEncoding("latin1");
  await once(socket, "connect");
  const head = "POST /platform.ping.v2.PingService/Ping HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
  socket.write(`${head}content-length: 2\r\nexpect: 100-continue\r\n\r\n`);
  await once(socket, "data"); // 100 Continue: the server has the call
  socket.write("{");
  return {
    async finish() {
      socket.write("}");
      const [answer] = await once(socket, "data");
      return String(answer).split("\r\n")[0]!;
    },
  };
}

test.each([
  ["SIGTERM", "the npm process"],
  ["SIGINT", "the npm process"],
  ["SIGTERM", "the process group"], // as a supervisor stops a group
  ["SIGINT", "the process group"], // as a terminal does at Ctrl-C; npm sends it once more
] as const)("%s to %s: calls finish, it exits with 0, and nothing is left", async (signal, target) => {
  const { leader, baseUrl, stderr } = await start("npm", ["start"]);
  const call = await halfSentCall(baseUrl);
  const ended = once(leader, "exit");
  process.kill(target === "the npm process" ? leader.pid! : -leader.pid!, signal);
  await expect.poll(() => fetch(baseUrl).catch(() => "refused")).toBe("refused");
  expect(await call.finish()).toBe("HTTP/1.1 200 OK");
  expect(await ended).toEqual([0, null]);
  expect(isGroupAlive(leader)).toBe(false);
  expect(await stderr).toContain('"msg":"stopping"');
});

const isolation = ["--pid", "--fork", "--kill-child", "--mount-proc"];
const noIsolation = failureOf("unshare", [...isolation, "true"]);
if (noIsolation !== undefined) console.warn(`npm start is not tested as PID 1: ${noIsolation}`);

test.skipIf(noIsolation !== undefined).each([
  ["npm start", ["npm", "start"]],
  ["the server", [process.execPath, "src/main.ts", "serve"]],
] as const)("%s as PID 1, as in a container: SIGTERM ends it with 0", async (_what, command) => {
  const { leader, stderr } = await start("unshare", [...isolation, ...command]);
  const [inner] = childrenOf(leader.pid!);
  const ended = once(leader, "exit");
  process.kill(inner!, "SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(await stderr).toContain('"msg":"stopping"');
});

function childrenOf(pid: number): number[] {
  return execFileSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" })
    .trim()
    .split(/\s+/)
    .map(Number);
}

/** Why a program does not run; undefined if it does. */
function failureOf(program: string, args: readonly string[]): string | undefined {
  try {
    execFileSync(program, args, { stdio: "pipe" });
    return undefined;
  } catch (error) {
    return (error as Error).message.split("\n")[0];
  }
}
