/**
 * However a client cuts, pads and interleaves its frames, it gets the same answers from the fast path, over the bridge
 * and from Node alone.
 */

import { createHash } from "node:crypto";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  defaultWindow,
  emptyBuffer,
  flags,
  frame,
  headBytes,
  listFrames,
  maxPayloadBytes,
  numbersFrame,
  settings,
  types,
} from "../../../src/http/http2/frames.ts";
import { HeaderReader } from "../../../src/http/http2/hpack/hpack.ts";
import type { OnePortOptions } from "../../../src/http/port.ts";
import type { BufferedRequest, BufferedResponse, PortRequest, PortResponse } from "../../../src/message/index.ts";
import { openPort } from "../open-port.ts";
import { type Frame, padded, RawHttp2Client, requestOf } from "./raw-client.ts";

const limits = { lingerMs: 50 };
const idOf = (i: number) => i * 2 + 1;
const digest = (content: string | Buffer) => createHash("sha1").update(content).digest("base64url");

/** The answer to a request: what was read of it, and as many bytes as it asks for. */
function answerTo({ method, url = "", headers }: Pick<PortRequest, "method" | "url" | "headers">, body: Buffer) {
  const fields = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
  const content = "a".repeat(Number(/\d+$/.exec(url)?.[0]));
  const read = digest(JSON.stringify([method, url, fields.sort(), body.length, digest(body)]));
  return { content, head: { "x-read": read, "content-length": content.length } };
}

const serveBuffered = (request: BufferedRequest, response: BufferedResponse) => {
  if (request.url.startsWith("/unread")) return response.fallBack();
  const { content, head } = answerTo(request, request.bufferedBody);
  response.writeHead(200, head).end(content, "latin1");
};

function serve(request: PortRequest, response: PortResponse): void {
  const end = (body: Buffer) => {
    const { content, head } = answerTo(request, body);
    (response as ServerResponse).writeHead(200, head).end(content);
  };
  if (request.url?.startsWith("/unread")) end(emptyBuffer);
  else buffer(request).then(end, () => {});
}

/** Who answers. The answers of Node alone are the reference. */
const ways: Record<string, Partial<OnePortOptions>> = {
  "Node alone": { http2: "node" },
  "the fast path": { planFastPath: () => serveBuffered },
  "the bridge": {},
  "the bridge, after the fast path": { planFastPath: () => (_request, response) => response.fallBack() },
};

/** One request, and how it is brought into frames. */
const asked = fc.record({
  method: fc.constantFrom("GET", "POST", "PUT", "HEAD", "DELETE"),
  path: fc.constantFrom("/read", "/read", "/read", "/unread"),
  answerBytes: fc.oneof(fc.nat(300), fc.nat(100_000)),
  bytes: fc.oneof(fc.constant(0), fc.nat(300), fc.constantFrom(16_384, 49_151, 49_152, 65_536, 100_000)),
  /** What is said of the length beyond the truth. */
  surplus: fc.constantFrom(undefined, undefined, 0, 0, 1),
  fields: fc.uniqueArray(
    fc.constantFrom(
      ...["x-a=v", "x-a=", "x-b=b", "x-c=été", "x-d=a b", `x-long=${"y".repeat(5000)}`, "cookie=a", "cookie=b"],
      ...["te=trailers", "te=gzip", "connection=close", "host=other", "X-Upper=v", ":late=v", "expect=100-continue"],
    ),
    { maxLength: 4 },
  ),
  trailers: fc.constantFrom([], [], [], ["x-t", "1"]),
  cutBytes: fc.constantFrom(16_000, 5_000, 997),
  paddingBytes: fc.constantFrom(undefined, 0, 7, 255),
  /** Where the header list is cut for CONTINUATION. */
  listCut: fc.constantFrom(undefined, 0, 1, 20),
});

type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never;

function framesOf(stream: number, asked: Asked): Buffer[] {
  const { method, path, answerBytes, bytes, surplus, fields, trailers, cutBytes, paddingBytes, listCut } = asked;
  // Whether a request that is answered unread turns out to be too short before or after that, is a matter of time.
  const isKnown = surplus !== undefined && (surplus === 0 || path === "/read");
  const length = isKnown ? ["content-length", String(bytes + surplus)] : [];
  const more = fields.flatMap((field) => [field.slice(0, field.indexOf("=")), field.slice(field.indexOf("=") + 1)]);
  const hasContent = bytes > 0 || trailers.length > 0;
  const list = listFrames(
    stream,
    requestOf(`${path}?${answerBytes}`, [...length, ...more], method),
    hasContent ? 0 : flags.endStream,
  );
  const frames = [cutList(list, listCut)];
  for (let left = bytes; left > 0; left -= cutBytes) {
    const content = Buffer.alloc(Math.min(left, cutBytes), "b");
    const endStream = left <= cutBytes && trailers.length === 0 ? flags.endStream : 0;
    frames.push(dataFrame(stream, content, paddingBytes, endStream));
  }
  if (trailers.length > 0) frames.push(listFrames(stream, trailers, flags.endStream));
  return frames;
}

function cutList(list: Buffer, at: number | undefined): Buffer {
  if (at === undefined) return list;
  const [flag, stream, block] = [list[4]!, list.readUInt32BE(5), list.subarray(headBytes)];
  return Buffer.concat([
    frame(types.headers, flag & flags.endStream, stream, block.subarray(0, at)),
    frame(types.continuation, flags.endHeaders, stream, block.subarray(at)),
  ]);
}

function dataFrame(stream: number, content: Buffer, paddingBytes: number | undefined, endStream: number): Buffer {
  if (paddingBytes === undefined || content.length + paddingBytes >= maxPayloadBytes)
    return frame(types.data, endStream, stream, content);
  return padded(stream, content, paddingBytes, endStream);
}

/** What became of a request. */
interface Outcome {
  status?: string | undefined;
  /** Without the date. */
  fields?: string[];
  trailers?: readonly string[];
  content: number;
  isEnded: boolean;
  /** The code of a reset before the end. */
  code?: number;
}

/** A client that keeps to the windows, and widens the server's only once it has sent what it may. */
class Asker extends RawHttp2Client {
  readonly outcomes: Outcome[];
  readonly #queues: Buffer[][];
  readonly #reader = new HeaderReader(2 ** 20);
  #block: Buffer[] = [];
  #window = defaultWindow;
  readonly #windows: number[];
  #opened = 0;
  #isGone = false;

  constructor(socket: ReturnType<typeof connect>, window: number, requests: readonly Asked[]) {
    super(socket, [[settings.initialWindowSize, window]]);
    this.#queues = requests.map((asked, i) => framesOf(idOf(i), asked));
    this.#windows = requests.map(() => defaultWindow);
    this.outcomes = requests.map(() => ({ content: 0, isEnded: false }));
  }

  protected override onFrame({ type, flag, stream, payload }: Frame): void {
    const i = (stream - 1) / 2;
    if (type === types.settings && (flag & flags.ack) === 0)
      this.socket.write(frame(types.settings, flags.ack, 0, emptyBuffer));
    else if (type === types.goAway) this.#isGone = true;
    else if (type === types.windowUpdate && stream === 0) this.#window += payload.readUInt32BE(0);
    else if (type === types.windowUpdate) this.#windows[i]! += payload.readUInt32BE(0);
    else if (type === types.reset) this.#takeReset(i, payload.readUInt32BE(0));
    else if (stream > 0) this.#take(this.outcomes[i]!, type, flag, payload);
  }

  #takeReset(i: number, code: number): void {
    this.#queues[i] = [];
    const outcome = this.outcomes[i]!;
    if (!outcome.isEnded) outcome.code = code;
  }

  #take(outcome: Outcome, type: number, flag: number, payload: Buffer): void {
    if (type === types.headers || type === types.continuation) this.#block.push(payload);
    if (this.#block.length > 0 && (flag & flags.endHeaders) !== 0) this.#takeList(outcome);
    if (type === types.data) outcome.content += payload.length;
    if (type <= types.headers) outcome.isEnded ||= (flag & flags.endStream) !== 0;
  }

  #takeList(outcome: Outcome): void {
    const { fields } = this.#reader.read(Buffer.concat(this.#block.splice(0)));
    if (outcome.status !== undefined) outcome.trailers = fields;
    else if (fields[1] !== "100") {
      outcome.status = fields[1];
      outcome.fields = [];
      for (let at = 2; at < fields.length; at += 2)
        if (fields[at] !== "date") outcome.fields.push(`${fields[at]}: ${fields[at + 1]}`);
      outcome.fields.sort();
    }
  }

  /** Sends the next frame of a stream, if it has one that may be sent now. */
  #send(i: number): boolean {
    const queue = this.#queues[i]!;
    const next = queue[0];
    if (next === undefined || i > this.#opened) return false;
    const bytes = next[3] === types.data ? next.readUIntBE(0, 3) : 0;
    if (bytes > Math.min(this.#window, this.#windows[i]!)) return false;
    this.#opened = Math.max(this.#opened, i + 1);
    this.#window -= bytes;
    this.#windows[i]! -= bytes;
    this.socket.write(queue.shift()!);
    return true;
  }

  /** Sends all, a frame of one stream or another as `turns` say, and waits for the outcomes. */
  async askAll(turns: readonly number[]): Promise<Outcome[]> {
    const count = this.#queues.length;
    let stuckTurns = 0;
    for (let turn = 0; !this.#isOver; turn++) {
      const first = turns[turn % turns.length]! % count;
      const hasSent = this.#queues.some((_queue, i) => this.#send((first + i) % count));
      if (!hasSent && ++stuckTurns === 10) {
        this.socket.write(numbersFrame(types.windowUpdate, 0, 2 ** 24));
        for (let i = 0; i < count; i++) this.socket.write(numbersFrame(types.windowUpdate, idOf(i), 2 ** 24));
      }
      if (!hasSent || turn % 3 === 0) await setTimeout();
    }
    return this.outcomes;
  }

  get #isOver(): boolean {
    if (this.#isGone) return true;
    return this.outcomes.every(
      ({ isEnded, code }, i) => code !== undefined || (isEnded && this.#queues[i]!.length === 0),
    );
  }
}

describe.each(Object.keys(ways).slice(1))("by %s", (way) => {
  it("the answers are those of Node alone", { timeout: 120_000 }, async () => {
    const open = async (way: string) => {
      const opened = await openPort(false, { limits, onRequest: serve, ...ways[way] });
      onTestFinished(() => opened.port.close({ graceMs: 0 }));
      return opened.number;
    };
    const [ours, nodes] = [await open(way), await open("Node alone")];
    const ask = async (
      port: number,
      { window, requests, turns }: { window: number; requests: Asked[]; turns: number[] },
    ) => {
      const socket = connect(port, "127.0.0.1").setNoDelay();
      await once(socket, "connect");
      const outcomes = await new Asker(socket, window, requests).askAll(turns);
      socket.destroy();
      return outcomes;
    };
    const plan = fc.record({
      window: fc.constantFrom(0, 100, 5_000, defaultWindow, 2 ** 20),
      requests: fc.array(asked, { minLength: 1, maxLength: 10, size: "max" }),
      turns: fc.array(fc.nat(100), { minLength: 1, maxLength: 50, size: "max" }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async (plan) => {
        expect(await ask(ours, plan)).toEqual(await ask(nodes, plan));
      }),
      { numRuns: 60 },
    );
  });
});
