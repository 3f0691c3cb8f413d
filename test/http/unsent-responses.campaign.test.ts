/**
 * Responses that wait to be sent: handlers wait for room, no allowed request is refused, and memory is bounded over all
 * connections.
 */

import type { ServerResponse } from "node:http";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { describe, expect, it, onTestFinished } from "vitest";
import { flags, frame, numbersFrame, settings, types } from "../../src/http/http2/frames.ts";
import { defaultPortLimits } from "../../src/http/limits.ts";
import type { BufferedResponse } from "../../src/message/index.ts";
import { campaign } from "../campaign.ts";
import { RawHttp2Client } from "./http2/raw-client.ts";
import { certificate, type OpenPort, openPort, variants } from "./open-port.ts";

const megabyte = 2 ** 20;

/** How many answers of how many bytes: more than one connection may have waiting. */
const amounts = campaign({
  short: [[12, 3_000_000]],
  full: [
    [20, 5_000_000],
    [100, 250_000],
  ],
}) as [count: number, bytes: number][];

/** When a handler answers: where it was called, in a promise, or in a later turn of the event loop. */
const whens: Record<string, (answer: () => void) => void> = {
  "at once": (answer) => answer(),
  "in a promise": (answer) => void Promise.resolve().then(answer),
  later: (answer) => void setImmediate(answer),
};

/** A port whose answers have as many bytes as the path says. */
async function openLarge(
  { secure, fastPath }: { secure: boolean; fastPath: boolean },
  when: (answer: () => void) => void,
  limits: Parameters<typeof openPort>[1] = {},
) {
  const made = { handlers: 0, bytes: 0, received: 0, mostUnsent: 0 };
  const contentOf = (url = "") => {
    const content = Buffer.alloc(Number(url.slice(1)), "m");
    made.bytes += content.length;
    made.mostUnsent = Math.max(made.mostUnsent, made.bytes - made.received);
    return content;
  };
  const serveBuffered = ({ url }: { url: string }, response: BufferedResponse) => {
    made.handlers++;
    when(() => response.writeHead(200, {}).end(contentOf(url), "latin1"));
  };
  const opened = await openPort(secure, {
    ...limits,
    onRequest(request, response) {
      made.handlers++;
      when(() => (response as ServerResponse).end(contentOf(request.url)));
    },
    ...(fastPath ? { onBufferedRequest: serveBuffered, planFastPath: () => serveBuffered } : { http2: "node" }),
  });
  onTestFinished(() => opened.port.close({ graceMs: 0 }));
  return { ...opened, made };
}

function openSession({ origin }: OpenPort): ClientHttp2Session {
  const session = connect(origin, { ca: certificate.cert });
  onTestFinished(() => session.destroy());
  return session;
}

/** The bytes of an answer; rejects when its stream is reset. */
function ask(session: ClientHttp2Session, path: string, onBytes: (bytes: number) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    let length = 0;
    const stream = session.request({ ":path": path });
    stream.on("data", (chunk: Buffer) => {
      length += chunk.length;
      onBytes(chunk.length);
    });
    stream.on("error", reject).on("end", () => resolve(length));
  });
}

describe.each(variants)("one connection, $variant", (variant) => {
  describe.each(Object.entries(whens))("handlers answer %s", (_name, when) => {
    it.each(amounts)("is given %i answers of %i bytes", async (count, bytes) => {
      const opened = await openLarge(variant, when);
      const { made } = opened;
      const session = openSession(opened);
      const onBytes = (more: number) => {
        made.received += more;
      };
      for (const _again of [1, 2]) {
        const answers = Array.from({ length: count }, () => ask(session, `/${bytes}`, onBytes));
        expect(await Promise.all(answers)).toEqual(answers.map(() => bytes));
      }
      // Until one has answered, nobody knows how large the answers are. What the system holds is not the server's.
      const unknown = when === whens["at once"] ? 1 : 16;
      const allowed = defaultPortLimits.maxSessionMegabytes * megabyte + unknown * bytes;
      expect(made.mostUnsent).toBeLessThan(allowed + 8 * megabyte);
    });
  });
});

describe.each([
  { variant: "the fast path", secure: false, fastPath: true },
  { variant: "Node", secure: false, fastPath: false },
])("a client that takes nothing, by $variant", (variant) => {
  const bytes = 500_000;

  async function openIdle(opened: OpenPort, requests: number) {
    const { socket } = await opened.dial("h2");
    const client = new RawHttp2Client(socket, [[settings.initialWindowSize, 0]]);
    onTestFinished(() => void socket.destroy());
    for (let i = 0; i < requests; i++) client.ask(i * 2 + 1, `/${bytes}`);
    return client;
  }

  function takeAll(client: RawHttp2Client) {
    client.socket.write(numbersFrame(types.windowUpdate, 0, 2 ** 31 - 70_000));
    client.socket.write(frame(types.settings, 0, 0, Buffer.of(0, settings.initialWindowSize, 0x7f, 0, 0, 0)));
  }

  it("has its handlers wait, is not refused anything, and is answered in the end", async () => {
    const opened = await openLarge(variant, whens["at once"]!, { limits: { maxSessionMegabytes: 1 } });
    const client = await openIdle(opened, 90);
    client.socket.write(frame(types.ping, 0, 0, Buffer.from("all read")));
    await expect.poll(() => client.of(types.ping).length).toBe(1);
    await expect.poll(() => opened.made.handlers).toBe(3);
    client.socket.write(numbersFrame(types.reset, 3, constants.NGHTTP2_CANCEL)); // makes room for one
    await expect.poll(() => opened.made.handlers).toBe(4);
    takeAll(client);
    for (let stream = 1; stream < 180; stream += 2)
      if (stream !== 3) await expect.poll(() => client.isAnswered(stream)).toBe(true);
    expect(client.of(types.reset)).toEqual([]);
    expect(client.of(types.goAway)).toEqual([]);
    expect(opened.made.handlers).toBe(90);
  });

  const limits = { maxSessionMegabytes: 2, maxUnsentMegabytes: 8 };

  it("holds no more with all of its connections than they may, and all are answered in the end", async () => {
    const opened = await openLarge(variant, whens["at once"]!, { limits: { ...limits, checkIntervalMs: 1e6 } });
    const clients: RawHttp2Client[] = [];
    for (let i = 0; i < 12; i++) clients.push(await openIdle(opened, 10));
    await expect.poll(() => clients.every((client) => client.of(types.settings).length === 2)).toBe(true);
    await expect.poll(() => opened.made.bytes).toBeGreaterThan(8 * megabyte);
    expect(opened.made.bytes).toBeLessThan(9 * megabyte);
    for (const client of clients) takeAll(client);
    for (const client of clients) await expect.poll(() => client.isAnswered(19)).toBe(true);
    expect(opened.made.handlers).toBe(120);
  });

  it("loses connections when nothing is left for others", async () => {
    const opened = await openLarge(variant, whens["at once"]!, { limits });
    const clients: RawHttp2Client[] = [];
    for (let i = 0; i < 12; i++) clients.push(await openIdle(opened, 10));
    await expect.poll(() => opened.made.bytes).toBeGreaterThan(8 * megabyte);
    expect(await ask(openSession(opened), "/1000", () => {})).toBe(1000);
    await expect.poll(() => clients.some(({ socket }) => socket.closed)).toBe(true);
  });
});

it("does not blame a client for streams that it gives up while their handlers wait", async () => {
  const opened = await openLarge({ secure: false, fastPath: true }, whens["at once"]!, {
    limits: { maxSessionMegabytes: 1 },
  });
  const { socket } = await opened.dial("h2");
  const client = new RawHttp2Client(socket, [[settings.initialWindowSize, 0]]);
  onTestFinished(() => void socket.destroy());
  let next = 1;
  for (let i = 0; i < 3; i++, next += 2) client.ask(next, "/500000");
  for (let batch = 0; batch < 4; batch++) {
    const streams = Array.from({ length: 80 }, () => next).map((first, i) => first + i * 2);
    for (const stream of streams) client.ask(stream, "/1");
    next += 160;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    for (const stream of streams) client.socket.write(numbersFrame(types.reset, stream, constants.NGHTTP2_CANCEL));
  }
  client.socket.write(frame(types.ping, 0, 0, Buffer.from("all read")));
  await expect.poll(() => client.of(types.ping).filter(({ flag }) => flag === flags.ack).length).toBe(1);
  expect(client.of(types.goAway)).toEqual([]);
});
