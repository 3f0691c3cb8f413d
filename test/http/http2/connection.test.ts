/**
 * Our HTTP/2 connections and their bridge to Node, frame by frame. `test/conformance/h2spec.campaign.test.ts` tests
 * what every server must do.
 */

import type { ServerResponse } from "node:http";
import { connect, constants, type Http2ServerResponse, type IncomingHttpHeaders } from "node:http2";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { controlFrameRate } from "../../../src/http/http2/abuse-budget.ts";
import {
  emptyBuffer,
  flags,
  frame,
  headBytes,
  listFrames,
  maxWindow,
  numbersFrame,
  settings,
  settingsFrame,
  types,
} from "../../../src/http/http2/frames.ts";
import { HeaderReader } from "../../../src/http/http2/hpack/hpack.ts";
import type { OnePortOptions } from "../../../src/http/port.ts";
import type { BufferedRequest, BufferedResponse } from "../../../src/message/index.ts";
import { openPort } from "../open-port.ts";
import { type Frame, padded, RawHttp2Client, requestOf } from "./raw-client.ts";

/** Who answers: the fast path, Node from the start, or Node after the request was buffered. */
const places = ["/fast", "/node", "/back"] as const;

/** Answers with what was asked; `?bytes=n`: and so much more; `?head=n`: and a field so long. */
function answerTo(method = "", url = "", { "x-say": said }: IncomingHttpHeaders, body: Buffer) {
  const asked = (name: string) => Number(new RegExp(`${name}=(\\d+)`).exec(url)?.[1] ?? 0);
  const content = JSON.stringify({ method, said, body: body.toString("latin1"), more: "m".repeat(asked("bytes")) });
  const long = asked("head") === 0 ? {} : { "x-long": "l".repeat(asked("head")) };
  return { content, headers: { "content-length": content.length, ...long } };
}

const serveBuffered = ({ url, method, headers, bufferedBody }: BufferedRequest, response: BufferedResponse) => {
  if (url.startsWith("/back")) return response.fallBack();
  if (url.startsWith("/never")) return;
  if (url.startsWith("/late"))
    return void setTimeout(() => response.writeHead(200, {}).end('{"late":true}', "latin1"), 50);
  const answer = answerTo(method, url, headers, bufferedBody);
  response.writeHead(200, { ...answer.headers, "x-by": "fast" }).end(answer.content, "latin1");
};

/** `served`: the requests of handlers that have begun on the fast path. */
async function open(limits: OnePortOptions["limits"] = {}) {
  const served: string[] = [];
  const opened = await openPort(false, {
    limits,
    planFastPath({ url }) {
      if (url.startsWith("/node")) return;
      return (request, response) => {
        served.push(url);
        serveBuffered(request, response);
      };
    },
    onBufferedRequest: serveBuffered,
    onRequest(request, response) {
      const serve = (body: Buffer) => {
        const answer = answerTo(request.method, request.url, request.headers, body);
        (response as ServerResponse).writeHead(200, { ...answer.headers, "x-by": "node" }).end(answer.content);
      };
      if (request.url?.startsWith("/node/unread")) return;
      if (request.url?.startsWith("/node/refused")) return (response as Http2ServerResponse).stream.close(5);
      if (request.url?.startsWith("/node/early")) return void response.end("{}");
      if (request.url?.startsWith("/node/cut"))
        return void (response as ServerResponse).write("{", () => response.destroy());
      if (request.url?.startsWith("/node/endless"))
        return void Readable.from(
          (function* () {
            for (;;) yield Buffer.alloc(16_384);
          })(),
        )
          .on("error", () => {})
          .pipe(response);
      buffer(request).then(serve, () => response.destroy());
    },
  });
  onTestFinished(() => opened.port.close({ graceMs: 0 }));
  return { ...opened, served };
}

async function openRaw(values: readonly (readonly [number, number])[] = [], limits: OnePortOptions["limits"] = {}) {
  const opened = await open(limits);
  const { socket } = await opened.dial();
  const client = new RawHttp2Client(socket, values);
  onTestFinished(() => void socket.destroy());
  return { client, port: opened.port, served: opened.served };
}

describe.each(places)("%s", (place) => {
  it("answers, beside the others on one connection", async () => {
    const { client } = await openRaw();
    for (const [i, path] of places.entries()) {
      const stream = i * 2 + 1;
      client.ask(stream, path, { flag: 0, fields: ["x-say", place] });
      client.socket.write(frame(types.data, flags.endStream, stream, Buffer.from(path)));
    }
    for (const [i, path] of places.entries())
      expect(await client.answerOf(i * 2 + 1)).toEqual({ method: "POST", said: place, body: path, more: "" });
    const reader = new HeaderReader(10_000);
    const by: Record<number, string | undefined> = {};
    for (const { payload, stream } of client.of(types.headers)) {
      const { fields } = reader.read(payload);
      by[stream] = fields[fields.indexOf("x-by") + 1];
    }
    expect(by).toEqual({ 1: "fast", 3: "node", 5: "node" });
  });

  it("sends no more than windows allow, and all in the end", async () => {
    const { client } = await openRaw([[settings.initialWindowSize, 10]]);
    client.ask(1, `${place}?bytes=100`);
    await expect.poll(() => client.contentOf(1).length).toBe(10);
    client.socket.write(numbersFrame(types.windowUpdate, 1, 7));
    await expect.poll(() => client.contentOf(1).length).toBe(17);
    client.socket.write(settingsFrame(new Map([[settings.initialWindowSize, 0]]))); // 10 bytes less than nothing
    client.socket.write(numbersFrame(types.windowUpdate, 1, 12));
    await expect.poll(() => client.contentOf(1).length).toBe(19);
    client.socket.write(settingsFrame(new Map([[settings.initialWindowSize, 1000]])));
    expect((await client.answerOf(1)).more).toHaveLength(100);
  });

  it("shares the connection's window", async () => {
    const { client } = await openRaw([[settings.initialWindowSize, 2 ** 31 - 1]]);
    client.ask(1, "/fast?bytes=60000");
    await client.answerOf(1);
    client.ask(3, `${place}?bytes=50000`);
    client.ask(5, "/fast?bytes=50000");
    const received = () => [1, 3, 5].reduce((sum, stream) => sum + client.contentOf(stream).length, 0);
    await expect.poll(received).toBe(65_535);
    await sleep(30);
    expect(received()).toBe(65_535);
    client.socket.write(numbersFrame(types.windowUpdate, 0, 100_000));
    expect((await client.answerOf(3)).more).toHaveLength(50_000);
    expect((await client.answerOf(5)).more).toHaveLength(50_000);
  });

  it("takes back what was granted before", async () => {
    const { client } = await openRaw([[settings.initialWindowSize, 0]]);
    client.ask(1, `${place}?bytes=10`, { flag: 0 });
    client.socket.write(numbersFrame(types.windowUpdate, 1, 1000));
    client.socket.write(frame(types.data, flags.endStream, 1, emptyBuffer));
    expect((await client.answerOf(1)).more).toHaveLength(10);
  });

  it("reads content with padding, and credits all of it", async () => {
    const { client } = await openRaw();
    client.ask(1, place, { flag: 0 });
    const [part, times] = [Buffer.alloc(100, "p"), 600];
    for (let i = 0; i < times; i++) {
      const granted = client.of(types.windowUpdate).filter(({ stream }) => stream === 1);
      const bytes = granted.reduce((sum, { payload }) => sum + payload.readUInt32BE(), 65_535);
      if (bytes < (i + 1) * 301) await sleep(5);
      client.socket.write(padded(1, part, 200, i === times - 1 ? flags.endStream : 0));
    }
    expect((await client.answerOf(1)).body).toBe("p".repeat(100 * times));
  });

  it.each([2, 16])("reads a header list in %i parts", async (count) => {
    const { client } = await openRaw();
    const block = listFrames(1, requestOf(place, ["x-say", "parts"]), 0).subarray(headBytes);
    for (let i = 0; i < count; i++) {
      const isLast = i === count - 1;
      const part = block.subarray(i, isLast ? undefined : i + 1);
      const flag = (i === 0 ? flags.endStream : 0) | (isLast ? flags.endHeaders : 0);
      client.socket.write(frame(i === 0 ? types.headers : types.continuation, flag, 1, part));
    }
    expect((await client.answerOf(1)).said).toBe("parts");
  });

  it("sends a header list in parts", async () => {
    const { client } = await openRaw();
    client.ask(1, `${place}?head=40000`);
    await client.answerOf(1);
    const [first, ...others] = client.frames.filter(({ type, stream }) => stream === 1 && type !== types.data);
    expect(others.length).toBeGreaterThan(0);
    for (const [i, { type, flag }] of others.entries())
      expect([type, flag]).toEqual([types.continuation, i === others.length - 1 ? flags.endHeaders : 0]);
    const block = Buffer.concat([first!, ...others].map(({ payload }) => payload));
    const { fields } = new HeaderReader(100_000).read(block);
    expect(fields[fields.indexOf("x-long") + 1]).toBe("l".repeat(40_000));
  });

  it("takes trailers", async () => {
    const { client } = await openRaw();
    client.ask(1, place, { flag: 0 });
    client.socket.write(frame(types.data, 0, 1, Buffer.from("content")));
    client.socket.write(listFrames(1, ["x-trailer", "t"], flags.endStream));
    expect((await client.answerOf(1)).body).toBe("content");
  });

  it("gives up a request that does not end, and an answer that is not taken", async () => {
    const { client } = await openRaw([[settings.initialWindowSize, 0]], { requestMs: 100, responseMs: 200 });
    client.ask(1, place, { flag: 0 });
    client.ask(3, place);
    expect(await client.endOf(1)).toBe(constants.NGHTTP2_CANCEL);
    expect(await client.endOf(3)).toBe(constants.NGHTTP2_CANCEL);
    client.socket.write(settingsFrame(new Map([[settings.initialWindowSize, 1000]])));
    client.ask(5, place);
    await client.answerOf(5);
  });
});

it("serves any requests alike, many at a time, for as long as a connection lasts", { timeout: 120_000 }, async () => {
  const { origin } = await open();
  const session = connect(origin);
  onTestFinished(() => session.destroy());
  const size = fc.oneof(fc.nat(300), fc.nat(200_000));
  const request = fc.record({
    place: fc.constantFrom(...places),
    sends: size,
    asks: size,
    pieces: fc.integer({ min: 1, max: 5 }),
  });
  const ask = async ({
    place,
    sends,
    asks,
    pieces,
  }: {
    place: string;
    sends: number;
    asks: number;
    pieces: number;
  }) => {
    const stream = session.request({ ":method": "POST", ":path": `${place}?bytes=${asks}`, "x-say": String(sends) });
    const body = Buffer.alloc(sends, "b");
    const pieceBytes = Math.ceil(sends / pieces);
    for (let at = 0; at < sends; at += pieceBytes) {
      stream.write(body.subarray(at, at + pieceBytes));
      await new Promise(setImmediate);
    }
    stream.end();
    const { method, said, body: got, more } = JSON.parse((await buffer(stream)).toString());
    return { method, said, sent: got.length, more: more.length };
  };
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 60, size: "max" }), async (requests) => {
      const answers = await Promise.all(requests.map(ask));
      expect(answers).toEqual(
        requests.map(({ sends, asks }) => ({ method: "POST", said: String(sends), sent: sends, more: asks })),
      );
    }),
    { numRuns: 15 },
  );
});

describe("limits", () => {
  it("refuses streams beyond those it allows at once", async () => {
    const { client } = await openRaw();
    for (let i = 0; i < 101; i++) client.ask(i * 2 + 1, "/never");
    expect(await client.endOf(201)).toBe(constants.NGHTTP2_REFUSED_STREAM);
    expect(client.of(types.reset)).toHaveLength(1);
  });

  it("counts those it has answered in the same turn", async () => {
    const { client } = await openRaw();
    await expect.poll(() => client.of(types.settings).length).toBe(2);
    const list = (id: number) => listFrames(id, requestOf("/fast"), flags.endStream);
    client.socket.write(Buffer.concat(Array.from({ length: 110 }, (_, i) => list(i * 2 + 1))));
    expect(await client.endOf(219)).toBe(constants.NGHTTP2_REFUSED_STREAM);
    expect(client.of(types.reset)).toHaveLength(10);
    expect(client.isAnswered(199)).toBe(true);
  });

  it.each(["/never", "/node"])("ends a connection that opens streams and resets them: %s", async (path) => {
    const { client } = await openRaw();
    for (let i = 0; i < 300; i++) {
      client.ask(i * 2 + 1, path, { flag: 0 });
      client.socket.write(numbersFrame(types.reset, i * 2 + 1, constants.NGHTTP2_CANCEL));
    }
    expect(await client.endOf(0)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    await expect.poll(() => client.socket.closed).toBe(true);
  });

  it("ends a connection whose mistakes make it reset streams", async () => {
    const { client } = await openRaw();
    for (let i = 0; i < 300; i++) {
      client.ask(i * 2 + 1, "/never");
      client.socket.write(numbersFrame(types.windowUpdate, i * 2 + 1, 0));
    }
    expect(await client.endOf(0)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it.each([
    ["frames", Array.from({ length: 16 }, () => Buffer.of(0))], // and the first
    ["bytes", Array.from({ length: 5 }, () => Buffer.alloc(16_384))],
  ])("ends a connection whose header block has too many %s", async (_what, parts) => {
    const { client } = await openRaw();
    client.socket.write(frame(types.headers, 0, 1, emptyBuffer));
    for (const part of parts) client.socket.write(frame(types.continuation, 0, 1, part));
    expect(await client.endOf(0)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it("does not read from who does not read", async () => {
    const { client, served } = await openRaw([[settings.initialWindowSize, 2 ** 31 - 1]]);
    client.socket.write(numbersFrame(types.windowUpdate, 0, 2 ** 31 - 100_000));
    await expect.poll(() => client.of(types.settings).length).toBe(2);
    client.socket.pause();
    const bytes = 1_000_000; // the system holds some
    const streams = Array.from({ length: 100 }, (_, i) => i * 2 + 1);
    const lists = streams.map((stream) => listFrames(stream, requestOf(`/fast?bytes=${bytes}`), flags.endStream));
    client.socket.write(Buffer.concat(lists));
    await expect.poll(() => served.length).toBeGreaterThan(0);
    await sleep(200);
    expect(served.length).toBeLessThan(60);
    client.socket.resume();
    for (const stream of streams) expect((await client.answerOf(stream)).more).toHaveLength(bytes);
  });
});

describe("what ends a connection, and why", () => {
  const { NGHTTP2_PROTOCOL_ERROR, NGHTTP2_FRAME_SIZE_ERROR, NGHTTP2_FLOW_CONTROL_ERROR } = constants;
  const { NGHTTP2_COMPRESSION_ERROR, NGHTTP2_STREAM_CLOSED, NGHTTP2_ENHANCE_YOUR_CALM } = constants;
  const list = (id: number, flag = 0) => listFrames(id, requestOf("/never"), flag);
  it.each<[what: string, code: number, frames: Buffer[]]>([
    ["DATA of no stream", NGHTTP2_PROTOCOL_ERROR, [frame(types.data, 0, 0, emptyBuffer)]],
    ["DATA of a stream not open", NGHTTP2_PROTOCOL_ERROR, [frame(types.data, 0, 1, emptyBuffer)]],
    [
      "padding longer than its frame",
      NGHTTP2_PROTOCOL_ERROR,
      [list(1), frame(types.data, flags.padded, 1, Buffer.of(9))],
    ],
    ["an even stream", NGHTTP2_PROTOCOL_ERROR, [list(2)]],
    ["a stream again", NGHTTP2_STREAM_CLOSED, [list(3), list(1)]],
    ["a second list that is not the last", NGHTTP2_PROTOCOL_ERROR, [list(1), list(1)]],
    ["a list after the end", NGHTTP2_STREAM_CLOSED, [list(1, flags.endStream), list(1, flags.endStream)]],
    [
      "another frame within a list",
      NGHTTP2_PROTOCOL_ERROR,
      [frame(types.headers, 0, 1, emptyBuffer), frame(types.ping, 0, 0, Buffer.alloc(8))],
    ],
    ["CONTINUATION of nothing", NGHTTP2_PROTOCOL_ERROR, [frame(types.continuation, 0, 1, emptyBuffer)]],
    ["no HPACK", NGHTTP2_COMPRESSION_ERROR, [frame(types.headers, flags.endHeaders, 1, Buffer.of(0x80))]],
    ["a frame too long", NGHTTP2_FRAME_SIZE_ERROR, [frame(types.data, 0, 1, Buffer.alloc(16_385))]],
    ["half a PING", NGHTTP2_FRAME_SIZE_ERROR, [frame(types.ping, 0, 0, Buffer.alloc(4))]],
    ["half a setting", NGHTTP2_FRAME_SIZE_ERROR, [frame(types.settings, 0, 0, Buffer.alloc(3))]],
    [
      "a window too large",
      NGHTTP2_FLOW_CONTROL_ERROR,
      [settingsFrame(new Map([[settings.initialWindowSize, 2 ** 31]]))],
    ],
    ["windows too large in sum", NGHTTP2_FLOW_CONTROL_ERROR, [numbersFrame(types.windowUpdate, 0, 2 ** 31 - 1)]],
    ["no increment", NGHTTP2_PROTOCOL_ERROR, [numbersFrame(types.windowUpdate, 0, 0)]],
    ["half a GOAWAY", NGHTTP2_FRAME_SIZE_ERROR, [frame(types.goAway, 0, 0, Buffer.alloc(4))]],
    [
      "settings that make a window too large",
      NGHTTP2_FLOW_CONTROL_ERROR,
      [
        list(1),
        numbersFrame(types.windowUpdate, 1, 2 ** 31 - 65_536),
        settingsFrame(new Map([[settings.initialWindowSize, 70_000]])),
      ],
    ],
    [
      "empty frames without end",
      NGHTTP2_ENHANCE_YOUR_CALM,
      [list(1), ...Array(300).fill(frame(types.data, 0, 1, emptyBuffer))],
    ],
    [
      "empty frames with padding",
      NGHTTP2_ENHANCE_YOUR_CALM,
      [list(1), ...Array(300).fill(padded(1, emptyBuffer, 200, 0))],
    ],
    ["settings without end", NGHTTP2_ENHANCE_YOUR_CALM, Array(300).fill(settingsFrame(new Map()))],
    ...Object.entries({
      PING: frame(types.ping, 0, 0, Buffer.alloc(8)),
      "PING that answers nothing": frame(types.ping, flags.ack, 0, Buffer.alloc(8)),
      "SETTINGS that acknowledge nothing": frame(types.settings, flags.ack, 0, emptyBuffer),
      PRIORITY: frame(types.priority, 0, 5, Buffer.alloc(5)),
      "WINDOW_UPDATE of 1": numbersFrame(types.windowUpdate, 0, 1),
      "WINDOW_UPDATE of 1 of a stream": numbersFrame(types.windowUpdate, 1, 1),
      "frames of unknown types": frame(99, 0, 0, emptyBuffer),
      GOAWAY: numbersFrame(types.goAway, 0, 0, 0),
      "RST_STREAM of a stream that is over": numbersFrame(types.reset, 1, constants.NGHTTP2_CANCEL),
    }).map<[string, number, Buffer[]]>(([what, bytes]) => [
      `${what} without end`,
      NGHTTP2_ENHANCE_YOUR_CALM,
      [list(1, flags.endStream), ...Array(1100).fill(bytes)],
    ]),
    ["PUSH_PROMISE", NGHTTP2_PROTOCOL_ERROR, [frame(types.pushPromise, 0, 1, Buffer.alloc(4))]],
  ])("%s", async (_what, code, frames) => {
    const { client } = await openRaw();
    client.socket.on("error", () => {});
    for (const bytes of frames) client.socket.write(bytes);
    expect(await client.endOf(0)).toBe(code);
    await expect.poll(() => client.socket.closed).toBe(true);
  });

  it("is not that a client takes a large answer in small steps", async () => {
    const { client } = await openRaw();
    const bytes = 2_000_000;
    const granting = (frame: Frame) => {
      if (frame.type !== types.data || frame.payload.length === 0) return;
      for (const stream of [0, frame.stream])
        client.socket.write(numbersFrame(types.windowUpdate, stream, frame.payload.length));
      client.socket.write(ping);
    };
    const ping = frame(types.ping, 0, 0, Buffer.alloc(8));
    const { push } = client.frames;
    client.frames.push = (...frames) => {
      for (const frame of frames) granting(frame);
      return push.apply(client.frames, frames);
    };
    for (let stream = 1; stream < 8; stream += 2) {
      client.ask(stream, `/fast?bytes=${bytes}`);
      expect((await client.answerOf(stream)).more).toHaveLength(bytes);
    }
    expect(client.of(types.ping).length * 3).toBeGreaterThan(controlFrameRate.burst);
  });

  it("is that a client takes a large answer byte by byte", async () => {
    const { client } = await openRaw([[settings.initialWindowSize, 0]]);
    client.socket.on("error", () => {});
    client.ask(1, "/fast?bytes=100000");
    for (let i = 0; i < 1200; i++) client.socket.write(numbersFrame(types.windowUpdate, 1, 1));
    expect(await client.endOf(0)).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it("is not what is left of streams that were refused", async () => {
    const { client } = await openRaw();
    for (let i = 0; i < 100; i++) client.ask(i * 2 + 1, "/never");
    for (let i = 100; i < 180; i++) {
      client.ask(i * 2 + 1, "/fast", { flag: 0 });
      for (let part = 0; part < 5; part++) client.socket.write(frame(types.data, 0, i * 2 + 1, Buffer.from("part")));
      client.socket.write(frame(types.data, flags.endStream, i * 2 + 1, emptyBuffer));
    }
    client.socket.write(frame(types.ping, 0, 0, Buffer.from("all read")));
    await expect.poll(() => client.of(types.ping).length).toBe(1);
    expect(client.of(types.reset)).toHaveLength(80);
    expect(client.of(types.goAway)).toEqual([]);
  });

  it("ignores frames of unknown types and unknown settings", async () => {
    const { client } = await openRaw([[99, 1]]);
    client.socket.write(frame(99, 255, 7, Buffer.alloc(20)));
    client.ask(1, "/fast");
    await client.answerOf(1);
  });
});

it.each([0, 1, 4095])("keeps to a client's header table of %i bytes", async (headerTableSize) => {
  const { origin } = await open();
  const session = connect(origin, { settings: { headerTableSize } });
  onTestFinished(() => session.destroy());
  for (const path of [...places, ...places]) {
    const stream = session.request({ ":path": path });
    expect(JSON.parse((await buffer(stream)).toString()).method).toBe("GET");
  }
});

it.each(["/fast?bytes=100000", "/node?bytes=100000"])("sends %s beside an answer without end", async (path) => {
  const { origin } = await open();
  const session = connect(origin);
  onTestFinished(() => session.destroy());
  session
    .request({ ":path": "/node/endless" })
    .on("error", () => {})
    .resume();
  await sleep(50);
  expect(JSON.parse((await buffer(session.request({ ":path": path }))).toString()).more).toHaveLength(100_000);
});

it("does not count what was never sent against those who come after", async () => {
  const { client } = await openRaw([[settings.initialWindowSize, 10_000_000]]);
  for (const stream of [1, 3]) client.ask(stream, "/node?bytes=1000000");
  await expect.poll(() => client.contentOf(1).length + client.contentOf(3).length).toBe(65_535);
  for (const stream of [1, 3]) client.socket.write(numbersFrame(types.reset, stream, constants.NGHTTP2_CANCEL));
  client.socket.write(numbersFrame(types.windowUpdate, 0, 10_000_000));
  client.ask(5, "/node?bytes=200000");
  expect((await client.answerOf(5)).more).toHaveLength(200_000);
});

it("closes no stream before the end of its answer, though nobody has read the request", async () => {
  const lingerMs = 300;
  const { client } = await openRaw([], { lingerMs });
  const streams = Array.from({ length: 90 }, (_, i) => i * 2 + 1);
  for (const stream of streams) client.ask(stream, "/node/early", { flag: stream % 3 === 0 ? flags.endStream : 0 });
  const askedMs = performance.now();
  await expect.poll(() => client.of(types.reset), { interval: 5 }).not.toEqual([]);
  expect(performance.now() - askedMs).toBeGreaterThanOrEqual(lingerMs);
  for (const stream of streams) expect(await client.answerOf(stream)).toEqual({});
  for (const stream of streams.filter((stream) => stream % 3 > 0))
    expect(await client.endOf(stream)).toBe(constants.NGHTTP2_NO_ERROR);
  expect(client.of(types.reset)).toHaveLength(60);
});

it("does not let an answer that is cut off look complete", async () => {
  const { client } = await openRaw();
  client.ask(1, "/node/cut");
  expect(await client.endOf(1)).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  expect(client.isAnswered(1)).toBe(false);
});

describe("what a client had sent before it knew of the end of a stream", () => {
  it.each(["/node/refused", "/node/early"])("is ignored: %s", async (path) => {
    const { client } = await openRaw([], { lingerMs: 50 });
    client.ask(1, path, { flag: 0 });
    await expect.poll(() => client.of(types.reset, 1).length).toBe(1);
    client.socket.write(frame(types.data, 0, 1, Buffer.from("more")));
    client.socket.write(listFrames(1, ["x-trailer", "t"], flags.endStream));
    client.ask(3, "/fast");
    await client.answerOf(3);
    expect(client.of(types.reset)).toHaveLength(1);
    expect(client.of(types.goAway)).toEqual([]);
  });

  it("does not cut off an answer that waits", async () => {
    const { client } = await openRaw([[settings.initialWindowSize, 0]], { lingerMs: 50 });
    client.ask(1, "/node/early", { flag: 0 });
    await expect.poll(() => client.of(types.headers, 1).length).toBe(1);
    for (let i = 0; i < 3; i++) client.socket.write(frame(types.data, 0, 1, Buffer.from("more")));
    client.socket.write(numbersFrame(types.windowUpdate, 1, 10));
    await client.answerOf(1);
    await expect.poll(() => client.of(types.reset, 1).length).toBe(1);
    expect(client.frames.filter(({ stream }) => stream === 1).at(-1)?.type).toBe(types.reset);
  });
});

it("lets Node reset any number of streams without harm to others", async () => {
  const { client } = await openRaw();
  client.ask(1, "/node", { flag: 0 });
  for (let i = 1; i <= 400; i++) {
    client.ask(i * 2 + 1, "/node/refused");
    if (i % 50 === 0) await client.endOf(i * 2 + 1);
  }
  client.socket.write(frame(types.data, flags.endStream, 1, Buffer.from("content")));
  expect((await client.answerOf(1)).body).toBe("content");
});

it("keeps nothing of Node's sessions that have ended behind it", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning); // of more listeners than a connection has
  onTestFinished(() => void process.off("warning", onWarning));
  const { client } = await openRaw();
  for (let stream = 1; stream < 60; stream += 2) {
    client.ask(stream, "/node", { flag: 0, fields: ["content-length", "5"] }); // which Node ends the session for
    client.socket.write(frame(types.data, flags.endStream, stream, Buffer.from("content")));
    await client.endOf(stream);
  }
  client.ask(61, "/node");
  await client.answerOf(61);
  expect(warnings).toEqual([]);
});

it.each(["/late", "/node?bytes=100", "/back?bytes=100"])(
  "answers %s to a client that has closed its side",
  async (path) => {
    const { client } = await openRaw();
    client.ask(1, path);
    client.ask(3, "/fast", { flag: 0 });
    client.socket.end();
    await client.answerOf(1);
    await expect.poll(() => client.socket.closed).toBe(true);
  },
);

describe("a client that takes its time", () => {
  const bytes = 20_000_000;
  const path = `/fast?bytes=${bytes}`;

  /** Asks for more than the system holds, and takes a piece every `everyMs`; after `hurry` all at once. */
  async function askForMuch(everyMs: number, limits: OnePortOptions["limits"]) {
    const { client, port, served } = await openRaw([[settings.initialWindowSize, 2 ** 31 - 1]], limits);
    const { socket } = client;
    socket.removeAllListeners("data");
    socket.write(numbersFrame(types.windowUpdate, 0, 2 ** 31 - 100_000));
    client.ask(1, path);
    let received = 0;
    let isSlow = true;
    socket.on("data", (chunk) => {
      received += chunk.length;
      if (isSlow) socket.pause();
    });
    const taking = setInterval(() => socket.resume(), everyMs);
    onTestFinished(() => clearInterval(taking));
    await expect.poll(() => served).toContain(path);
    const hurry = () => {
      isSlow = false;
      socket.resume();
    };
    return { port, socket, received: () => received, hurry };
  }

  it("gets all of its answer from a port that is being closed", async () => {
    const { port, received, hurry } = await askForMuch(20, { lingerMs: 50 });
    const closed = port.close({ graceMs: 60_000 });
    await sleep(300);
    expect(received()).toBeLessThan(bytes);
    hurry();
    await closed;
    await expect.poll(received).toBeGreaterThan(bytes); // of which the system had some
  });

  it.each([
    ["however steadily it takes", 20],
    ["or takes nothing", 60_000],
  ])("is given up once that is too long, %s", async (_how, everyMs) => {
    const { port, socket, received, hurry } = await askForMuch(everyMs, { responseMs: 200 });
    await port.close({ graceMs: 60_000 }); // longer than the test may take
    hurry();
    await expect.poll(() => socket.closed).toBe(true);
    expect(received()).toBeLessThan(bytes);
  });
});

it("reads nothing more of a connection that has failed, and closes it", async () => {
  const { client } = await openRaw([], { lingerMs: 300 });
  client.socket.write(frame(types.ping, 0, 1, Buffer.alloc(8)));
  expect(await client.endOf(0)).toBe(constants.NGHTTP2_PROTOCOL_ERROR);
  client.ask(1, "/fast");
  const sending = setInterval(() => client.socket.write(Buffer.alloc(10)), 20);
  await expect.poll(() => client.socket.closed).toBe(true);
  clearInterval(sending);
  expect(client.frames.filter(({ type }) => type !== types.settings).map(({ type }) => type)).toEqual([types.goAway]);
});

it("does not go on reading a connection that has failed for ever", async () => {
  const { client } = await openRaw([], { lingerMs: 60_000 });
  client.socket.on("error", () => {});
  client.socket.write(frame(types.ping, 0, 1, Buffer.alloc(8)));
  await client.endOf(0);
  client.socket.write(Buffer.alloc(20_000_000));
  await expect.poll(() => client.socket.closed).toBe(true);
});

it("takes one window for each stream that nobody reads, and no more", async () => {
  const { client } = await openRaw();
  const send = (stream: number, bytes: number) => {
    for (let left = bytes; left > 0; left -= 16_384)
      client.socket.write(frame(types.data, 0, stream, Buffer.alloc(Math.min(left, 16_384))));
  };
  for (let stream = 1; stream < 100; stream += 2) {
    client.ask(stream, "/node/unread", { flag: 0 });
    send(stream, 65_535);
  }
  client.ask(101, "/node");
  await client.answerOf(101);
  expect(client.of(types.reset)).toEqual([]);
  send(1, 1);
  expect(await client.endOf(1)).toBe(constants.NGHTTP2_FLOW_CONTROL_ERROR);
  client.ask(103, "/fast");
  await client.answerOf(103);
});

it("serves what comes before the client knows that the port closes, refuses the rest, and ends with the last stream", async () => {
  const { client, port } = await openRaw([[settings.initialWindowSize, 0]]);
  client.ask(1, "/fast");
  await expect.poll(() => client.of(types.headers, 1).length).toBe(1);
  const closed = port.close({ graceMs: 10_000 });
  expect(await client.endOf(0)).toBe(constants.NGHTTP2_NO_ERROR);
  client.ask(3, "/fast");
  await expect.poll(() => client.of(types.headers, 3).length).toBe(1);
  const [ping] = client.of(types.ping);
  client.socket.write(frame(types.ping, flags.ack, 0, ping!.payload));
  await expect.poll(() => client.of(types.goAway).length).toBe(2);
  expect(client.of(types.goAway).map(({ payload }) => payload.readUInt32BE(0))).toEqual([maxWindow, 3]);
  client.ask(5, "/fast");
  expect(await client.endOf(5)).toBe(constants.NGHTTP2_REFUSED_STREAM);
  for (const stream of [1, 3]) client.socket.write(numbersFrame(types.windowUpdate, stream, 1000));
  await Promise.all([client.answerOf(1), client.answerOf(3)]);
  await closed;
});
