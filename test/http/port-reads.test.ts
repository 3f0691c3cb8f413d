/**
 * A request sees what any process has committed before it was sent, in whatever phase of the event loop the server last
 * read.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { BufferedRequest, BufferedResponse } from "../../src/message/index.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";
import { identities, identityRow } from "../databases/tables.ts";
import { type OpenPort, openPort } from "./open-port.ts";

const row = "r/1";
const rounds = 20;

/** Phases of the event loop: before and after it polls connections. */
const phases = {
  "a timer": (run: () => void) => void setTimeout(run, 1),
  "an immediate": (run: () => void) => void setImmediate(run),
};

let folder: string;
let ours: Database;
let others: DatabaseSync;
let open: OpenPort;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "platform-port-reads-"));
  const path = join(folder, "platform.db");
  ours = await openDatabase(`sqlite:${path}`);
  await ours.migrate();
  await ours.transact((session) => session.insert(identities, identityRow(row, { last_seen_us: 1 })));
  others = new DatabaseSync(path);
  open = await openPort(false, {
    onRead: () => ours.refresh(),
    async onRequest(request, response) {
      response.end(await see(request.url));
    },
    onBufferedRequest,
    planFastPath: () => onBufferedRequest,
  });
});

afterEach(async () => {
  await open.port.close({ graceMs: 0 });
  others.close();
  await ours.close();
  await rm(folder, { recursive: true });
});

async function onBufferedRequest({ url }: BufferedRequest, response: BufferedResponse): Promise<void> {
  if (url.startsWith("/node")) return response.fallBack();
  const seen = await see(url);
  response.writeHead(200, { "content-length": seen.length }).end(seen, "latin1");
}

/** What a request sees, which may have others see something else. */
async function see(url: string | undefined): Promise<string> {
  const seen = ours.read.get(identities, row);
  if (url?.endsWith("/commit")) commit(2);
  return String((await seen)?.columns.last_seen_us);
}

function commit(number: number): void {
  others.exec(`update identities set last_seen_us = ${number} where uid = '${row}'`);
}

/**
 * The number that `ask` receives when the server has read and another connection has then committed this one, without a
 * pause.
 */
async function askedAfter(phase: (run: () => void) => void, number: number, ask: () => Promise<number>) {
  return new Promise<number>((resolve, reject) => {
    phase(() => {
      void ours.read.get(identities, row);
      commit(number);
      ask().then(resolve, reject);
    });
  });
}

describe.each(Object.entries(phases))("after a read and a commit in %s", (_, phase) => {
  test.each(["/", "/node"])("HTTP/1.1 answers with what was committed: %s", async (path) => {
    const { socket } = await open.dial();
    const ask = () =>
      new Promise<number>((resolve) => {
        socket.once("data", (chunk) => resolve(Number(/\r\n\r\n(?:.*\r\n)?(\d+)/.exec(chunk.toString())?.[1])));
        socket.write(`GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`);
      });
    await ask();
    for (let number = 2; number < rounds; number++) expect(await askedAfter(phase, number, ask)).toBe(number);
  });

  test.each(["/", "/node"])("HTTP/2 answers with what was committed: %s", async (path) => {
    const session = connectHttp2(open.origin);
    const ask = () =>
      new Promise<number>((resolve) => {
        session.request({ ":path": path }).once("data", (chunk) => resolve(Number(chunk)));
      });
    await ask();
    for (let number = 2; number < rounds; number++) expect(await askedAfter(phase, number, ask)).toBe(number);
    session.close();
  });
});

test.each(["", "/node"])(
  "a request that came while another on its connection was answered sees what was committed meanwhile: %j",
  async (path) => {
    const { socket, closed } = await open.dial();
    const request = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nhost: here\r\n${more}\r\n`;
    socket.write(request(`${path}/commit`) + request(`${path}/`) + request("/", "connection: close\r\n"));
    const bodies = [...(await closed).matchAll(/\r\n(\d+)\r\n0\r\n|\r\n\r\n(\d+)/g)].map(
      (found) => found[1] ?? found[2],
    );
    expect(bodies).toEqual(["1", "2", "2"]);
  },
);
