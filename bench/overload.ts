/**
 * Overload: what a cheap call costs beside expensive ones, what several processes carry, what remains of the rate under
 * three times the load, and what killed workers cost. The program runs as users start it, on SQLite.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { Agent } from "node:http";
import { join } from "node:path";
import { fill, fillAdvisories } from "./data.ts";
import { type Load, statusOf, timesOf } from "./latency.ts";
import { besideTenant, makeNeighbours } from "./neighbour.ts";
import { expensivePath, folder, startExpensiveLoad } from "./processes.ts";
import { type Program, runCommand, startProgram } from "./program.ts";
import { percentile, printFigure, printHead, round2 } from "./table.ts";

/** Everything may be asked for: what is measured is not the limit of one caller. */
const unlimited = ["read", "list", "write", "address"].flatMap((name) => [`--rate-limit-${name}`, "off"]);
const getEveryMs = 5;
const seconds = 10;
const rounds = 3;

/** Sizes of the database, and how much is measured. */
export interface OverloadSize {
  readonly repos: number;
  readonly advisories: number;
  /** Whether to measure what one organisation costs another, and nothing else. */
  readonly onlyNeighbour: boolean;
}

/** Measures and prints all rows. */
export async function overload({ repos, advisories, onlyNeighbour }: OverloadSize): Promise<void> {
  printHead();
  const directory = join(folder, "overload");
  mkdirSync(directory);
  const database = `sqlite:${join(directory, "platform.db")}`;
  const { rootGroupUid: root } = JSON.parse(runCommand(["init", "--json", "--database", database]));
  const repo = await fill(database, join(directory, "peer.db"), root, repos);
  await fillAdvisories(database, root, advisories);
  console.log(`${repos} repos, ${advisories} advisories`);
  const path = `/registry/v2/repos/${repo}`;
  const lists = "/registry/v2/repos?page_size=50";

  const one = await startProgram(database, unlimited);
  printFigure("ready", `${Math.round(one.readyMs)} ms`, "≤2000, ≤1000");
  await besideTenant(await makeNeighbours(one, database, root));
  if (onlyNeighbour) return one.stop();
  await besideOthers(one, path);
  printFigure("idle CPU", `${round2(await idleCpu(one))} %`, "≤1, ≤0.3");
  const rateOfOne = await carried(one, path);
  await floods(one, lists);
  await one.stop();

  const two = await startProgram(database, [...unlimited, "--workers", "2"]);
  while (!(await haveAllReady(two, 2))) await new Promise((resolve) => setTimeout(resolve, 10));
  const rateOfTwo = await carried(two, path);
  if (rateOfOne !== undefined && rateOfTwo !== undefined) {
    const ratio = rateOfTwo.perSecond / rateOfOne.perSecond;
    const [twos, ones] = [rateOfTwo, rateOfOne].map(
      ({ perSecond, cores }) => `${perSecond}/s on ${round2(cores)} cores`,
    );
    printFigure("rest.get 2 workers/1", round2(ratio), "1.5, 1.8", `${twos}, ${ones}, the client on the rest`);
  }
  await kills(two, path);
  await two.stop();
}

/** Gets beside four clients that search, and beside 200 lists a second that are cancelled. */
async function besideOthers(program: Program, path: string): Promise<void> {
  await latency(program, path, seconds);
  for (const [kind, name] of [
    ["loop", "Get p99 beside 4 searches/alone"],
    ["cancel", "Get p99 beside 200 cancelled/alone"],
  ] as const) {
    const pairs: { alone: number; beside: number }[] = [];
    for (let i = 0; i < rounds; i++) {
      const alone = await latency(program, path, seconds);
      const stopLoad = startExpensiveLoad(kind, { ...program, path: expensivePath });
      await new Promise((resolve) => setTimeout(resolve, 1000));
      pairs.push({ alone, beside: await latency(program, path, seconds) });
      await stopLoad();
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    pairs.sort((a, b) => a.beside / a.alone - b.beside / b.alone);
    const { alone, beside } = pairs[Math.floor(rounds / 2)]!;
    const all = pairs.map((pair) => round2(pair.beside / pair.alone)).join(" ");
    printFigure(
      name,
      round2(beside / alone),
      "≤5, ≤2",
      `${round2(beside)} ms, alone ${round2(alone)} ms; rounds ${all}`,
    );
  }
}

/** The 99th percentile of the time that a call takes, in milliseconds. Calls begin at fixed times. */
async function latency({ port, token }: Program, path: string, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const ms = await served(seconds, getEveryMs, { port, path, token }, agent);
  agent.destroy();
  return percentile(ms, 0.99);
}

/** As {@link timesOf}. Errors: a plain Error if a call was not answered 200. */
async function served(seconds: number, everyMs: number, load: Load, agent: Agent | false): Promise<number[]> {
  const { ms, refused } = await timesOf(seconds, everyMs, () => statusOf(load, agent));
  if (refused > 0) throw new Error(`${refused} calls were not answered 200`);
  return ms;
}

/** The share of a core that an idle program uses, in percent. */
async function idleCpu(program: Program): Promise<number> {
  const beforeMs = program.cpuMs();
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  return (program.cpuMs() - beforeMs) / (seconds * 10);
}

/** What a client in C saw. */
interface Served {
  /** Answers 200 a second. */
  readonly perSecond: number;
  readonly refused: number;
  /** The cores that the server was given. */
  readonly cores: number;
}

/** The highest rate. Undefined where h2load is missing. */
async function carried(program: Program, path: string): Promise<Served | undefined> {
  await h2load(program, path, ["-c", "64", "-D", "5"], 5);
  return h2load(program, path, ["-c", "64", "-D", String(seconds)], seconds);
}

async function h2load(
  program: Program,
  path: string,
  options: readonly string[],
  duration: number,
): Promise<Served | undefined> {
  if (spawnSync("h2load", ["--version"]).status !== 0) {
    console.log("h2load is missing (Debian: nghttp2-client): what needs it is skipped");
    return undefined;
  }
  const beforeMs = program.cpuMs();
  const header = `authorization: Bearer ${program.token}`;
  const url = `http://127.0.0.1:${program.port}${path}`;
  const command = 'ulimit -n "$(ulimit -Hn)"; exec h2load "$@"';
  const child = spawn("sh", ["-c", command, "sh", "--h1", "-t", "1", "-H", header, ...options, url]);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  await new Promise((resolve) => child.once("close", resolve));
  const codes = /status codes: (\d+) 2xx, \d+ 3xx, (\d+) 4xx, (\d+) 5xx/.exec(text);
  if (codes === null) throw new Error(`h2load printed no status codes: ${text}`);
  const cpuSeconds = (program.cpuMs() - beforeMs) / 1000;
  const served = Number(codes[1]);
  program.emptyLog();
  return {
    perSecond: Math.round(served / duration),
    refused: Number(codes[2]) + Number(codes[3]),
    cores: cpuSeconds / duration,
  };
}

/** Three times the rate of lists that it can carry, from 5,000 connections. */
async function floods(program: Program, path: string): Promise<void> {
  const connections = 5000;
  const idleMb = program.rssMb();
  const best = await carried(program, path);
  if (best === undefined) return;
  const offered = best.perSecond * 3;
  let peakMb = 0;
  const watching = setInterval(() => {
    peakMb = Math.max(peakMb, program.rssMb());
  }, 200);
  const duration = 20;
  const flood = h2load(
    program,
    path,
    ["-c", String(connections), "--rps", (offered / connections).toFixed(3), "-D", String(duration)],
    duration,
  );
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const probe = { port: program.adminPort, path: "/livez", token: "" };
  const probes = await served(duration - 4, 20, probe, false);
  const flooded = await flood;
  clearInterval(watching);
  const detail = `${flooded!.perSecond}/s of ${best.perSecond}/s, ${offered}/s offered, ${flooded!.refused} refused`;
  printFigure("lists at 3 times the rate/best", round2(flooded!.perSecond / best.perSecond), "0.8, 0.95", detail);
  printFigure("probe p99 in that", `${round2(percentile(probes, 0.99))} ms`, "≤100, ≤20");
  printFigure("memory over idle in that", `${Math.round(peakMb - idleMb)} MB`, "≤300");
}

/** Kills workers under load, and counts the calls that are lost. */
async function kills(program: Program, path: string): Promise<void> {
  const clients = 32;
  const callsPerConnection = 100;
  let isOver = false;
  let lost = 0;
  let refused = 0;
  let answered = 0;
  const client = async () => {
    let agent = new Agent({ keepAlive: true });
    for (let i = 1; !isOver; i++) {
      if (i % callsPerConnection === 0) {
        agent.destroy(); // the next connection may be another worker's
        agent = new Agent({ keepAlive: true });
      }
      try {
        if ((await statusOf({ ...program, path }, agent)) === 200) answered++;
        else refused++;
      } catch {
        lost++; // its connection has gone with the worker
      }
    }
    agent.destroy();
  };
  const load = Promise.all(Array.from({ length: clients }, client));
  let longestMs = 0;
  let most = 0;
  for (let i = 0; i < 10; i++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const before = program.workers();
    const lostBefore = lost;
    const killed = before[i % before.length]!;
    process.kill(killed, "SIGKILL");
    const killedMs = performance.now();
    const isBack = async () => !program.workers().includes(killed) && (await haveAllReady(program, before.length));
    while (!(await isBack())) await new Promise((resolve) => setTimeout(resolve, 10));
    longestMs = Math.max(longestMs, performance.now() - killedMs);
    most = Math.max(most, lost - lostBefore);
  }
  isOver = true;
  await load;
  printFigure("a killed worker is back after", `${Math.round(longestMs)} ms`, "≤2000", "the longest of ten");
  printFigure(
    "calls lost by a kill",
    most,
    `≤${clients}`,
    `${clients} connections, ${refused} refused, ${answered} answered`,
  );
}

async function haveAllReady({ adminPort }: Program, count: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${adminPort}/readyz`);
  const { workers } = (await answer.json()) as { workers: string[] };
  return workers.filter((state) => state === "ok").length === count;
}
