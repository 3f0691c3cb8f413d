/**
 * A whole list of 100,000 repos by v1: in bounded memory, beside other calls, and cut short when it cannot be ended.
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { RepoSchema, ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { createServices } from "../../src/services/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { type PlatformProcess, runPlatform, startPlatform } from "../cli/platform-process.ts";

const count = 100_000;
const maxMegabytes = 50;

let folder: string;
let server: PlatformProcess;
let token: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-v1-lists-"));
  const url = `sqlite:${join(folder, "platform.db")}`;
  const { stdout } = await runPlatform(["init", "--database", url]);
  const group = /\b[0-9a-f]{40}\b/.exec(stdout)![0];
  token = (await runPlatform(["token", "--database", url])).stdout.trim();
  const services = createServices({
    openRootGroups: false,
    termsDocuments: undefined,
    allowLoopbackSinks: false,
    v1MaxListItems: count,
  });
  const [repos] = services.find(({ service }) => service === ReposService)!.resources;
  const database = await openDatabase(url);
  for (let start = 0; start < count; start += 1000) {
    await database.transact(async (session) => {
      for (let i = start; i < start + 1000; i++) {
        const uid = `${group}/${i.toString(16).padStart(16, "0")}`;
        const repo = create(RepoSchema, { name: `repo-${i}`, description: "d".repeat(100), bundles: ["base"] });
        await session.insert(repos!.table, newRow(uid, group, Date.now(), contentOf(repos!, repo)));
      }
    });
  }
  await database.close();
  server = await startPlatform(["--listen", "127.0.0.1:0", "--database", url]);
}, 120_000);

afterAll(async () => {
  await server?.end("SIGTERM");
  await rm(folder, { recursive: true });
});

/** Calls `path`. The response is not read yet. */
function open(path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${server.baseUrl}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } }, resolve).on(
      "error",
      reject,
    );
  });
}

/** Reads a response to its end, `pauseMs` after each piece. */
async function read(response: IncomingMessage, pauseMs = 0): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of response) {
    pieces.push(piece);
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return Buffer.concat(pieces).toString();
}

/** Megabytes of memory of the server: now, or the most since it started. */
function megabytes(what: "VmRSS" | "VmHWM"): number {
  const [, kilobytes] = new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))!;
  return Number(kilobytes) / 1024;
}

test("is complete, and takes little memory, whether the client is fast or slow", async () => {
  // The database's cache fills with the pages of the table, whoever reads them.
  for (let pageToken = ""; ; ) {
    const page = JSON.parse(await read(await open(`/registry/v2/repos?page_size=200&page_token=${pageToken}`)));
    if (page.nextPageToken === undefined) break;
    pageToken = encodeURIComponent(page.nextPageToken);
  }
  const idle = megabytes("VmRSS");
  const { items } = JSON.parse(await read(await open("/registry/v1/repos")));
  expect(new Set(items.map(({ id }: { id: string }) => id)).size).toBe(count);
  const slow = read(await open("/registry/v1/repos"), 1);
  for (let i = 0; i < 200; i++) expect((await open("/ping/v2/ping")).resume().statusCode).toBe(200);
  await slow;
  const most = megabytes("VmHWM");
  console.log(`idle ${idle.toFixed(0)} MB, at most ${most.toFixed(0)} MB`);
  expect(most - idle).toBeLessThan(maxMegabytes);
});

test("breaks off when its time is over, so that nobody takes it for the whole", async () => {
  const response = await open("/registry/v1/repos", { "x-server-timeout": "1" });
  expect(response.statusCode).toBe(200);
  await expect(read(response, 20)).rejects.toThrow(/aborted/); // several times as long, in pieces of 64 KB
});

test("ends when its client goes away, and leaves the server as it was", async () => {
  for (let i = 0; i < 50; i++) (await open("/registry/v1/repos")).destroy();
  expect(JSON.parse(await read(await open("/registry/v1/repos?name=repo-7"))).items).toHaveLength(1);
  expect(server.stderr()).not.toContain('"level":"error"');
});
