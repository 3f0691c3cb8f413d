/**
 * Measures reads during an import: `node bench/import-reads.ts [advisories] [postgres://…]`. Starts a server on a new
 * database, reads through the API alone and while a generated feed is imported twice, and prints times and memory.
 * Asserts nothing, because times on a busy machine mean nothing.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { advisoryDocuments } from "../test/feeds/generate-advisories.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const idleMs = 10_000;
const [count = "340000", postgres] = process.argv.slice(2);

const folder = await mkdtemp(join(tmpdir(), "platform-bench-"));
const database = ["--database", postgres ?? `sqlite:${join(folder, "platform.db")}`];
let server: ChildProcess | undefined;
try {
  const { rootGroupUid: group, token } = JSON.parse(await run(["init", "--json", ...database])) as Record<
    string,
    string
  >;
  const feed = join(folder, "feed.jsonl");
  const out = createWriteStream(feed);
  for (const document of advisoryDocuments(Number(count)))
    if (!out.write(`${JSON.stringify(document)}\n`)) await once(out, "drain");
  out.end();
  await once(out, "close");

  server = start(["serve", ...database, "--listen", "127.0.0.1:0"]);
  const baseUrl = await listening(server);
  const read = reader(baseUrl, token!);
  await read(AbortSignal.timeout(2000)); // warm
  print("reads, idle, of nothing", await read(AbortSignal.timeout(idleMs)));
  for (const title of ["first import", "second import"]) {
    const done = new AbortController();
    const child = start(["import", "advisories", feed, "--distribution", "wolfi", "--group", group!, ...database]);
    const startMs = performance.now();
    const peak = peakMemory(child, done.signal);
    const reading = read(done.signal);
    const summary = (await text(child.stdout!)).trim();
    const seconds = (performance.now() - startMs) / 1000;
    done.abort();
    console.log(`${title}: ${seconds.toFixed(1)} s, ${await peak} MB: ${summary}`);
    print(`reads, ${title}`, await reading);
    print("reads, idle, of what was imported", await read(AbortSignal.timeout(idleMs)));
  }
} finally {
  server?.kill();
  if (server?.exitCode === null) await once(server, "close");
  await rm(folder, { recursive: true });
}

function start(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [main, ...args], {
    stdio: ["ignore", "pipe", args[0] === "serve" ? "ignore" : "inherit"],
  });
}

function run(args: readonly string[]): Promise<string> {
  return text(start(args).stdout!);
}

async function listening({ stdout }: ChildProcess): Promise<string> {
  let written = "";
  for await (const chunk of stdout!.iterator({ destroyOnReturn: false })) {
    written += chunk;
    const url = /^platform listens on (\S+)\n/.exec(written)?.[1];
    if (url !== undefined) {
      stdout!.resume();
      return url;
    }
  }
  throw new Error("the server ended");
}

/** Sends one request after another until the signal. Returns their times in milliseconds. */
function reader(baseUrl: string, token: string): (until: AbortSignal) => Promise<number[]> {
  const paths = ["/iam/v2/groups", "/vulnerabilities/v2/advisories?page_size=50", "/advisory/v2/documents?page_size=5"];
  return async (until) => {
    const times: number[] = [];
    while (!until.aborted) {
      const startMs = performance.now();
      const path = paths[times.length % paths.length]!;
      const answer = await fetch(baseUrl + path, { headers: { authorization: `Bearer ${token}` } });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
      times.push(performance.now() - startMs);
      await setTimeout(2);
    }
    return times;
  };
}

/** The peak memory of a process in MB, from `/proc`. */
async function peakMemory({ pid }: ChildProcess, until: AbortSignal): Promise<number> {
  let peakKb = 0;
  while (!until.aborted) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    peakKb = Math.max(peakKb, Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? 0));
    await setTimeout(100);
  }
  return Math.round(peakKb / 1024);
}

function print(title: string, times: number[]): void {
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(share * (times.length - 1))]!.toFixed(2);
  console.log(`${title}: ${times.length} reads, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`);
}
