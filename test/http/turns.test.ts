/** Connections take turns: the handlers of one do not keep others waiting that have something to read. */

import type { ServerResponse } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { flags, frame, listFrames, types } from "../../src/http/http2/frames.ts";
import { Turns } from "../../src/http/turns.ts";
import type { BufferedResponse, HttpRequest, HttpResponse } from "../../src/message/index.ts";
import { RawHttp2Client, requestOf } from "./http2/raw-client.ts";
import { type OpenPort, openPort } from "./open-port.ts";

/** For how long a slow handler keeps the processor. */
const slowMs = 3;
const slowRequests = 90;

function work() {
  const startMs = performance.now();
  while (performance.now() - startMs < slowMs);
}

/** When a handler works. */
const whens: Record<string, (serve: () => void) => void> = {
  "where it is called": (serve) => serve(),
  "in a promise": (serve) => void Promise.resolve().then(serve),
};

/** A port that records the order of its answers. */
async function openTurns(fastPath: boolean, when: (serve: () => void) => void) {
  const served: string[] = [];
  const serve = (path: string, response: BufferedResponse) =>
    when(() => {
      if (path.startsWith("/slow")) work();
      served.push(path);
      response.writeHead(200, { "content-length": 2 }).end("ok", "latin1");
    });
  const serveBuffered = ({ url }: { url: string }, response: BufferedResponse) => serve(url, response);
  const opened = await openPort(false, {
    onRequest: (request, response) => serve(request.url!, response as ServerResponse as unknown as BufferedResponse),
    ...(fastPath ? { onBufferedRequest: serveBuffered, planFastPath: () => serveBuffered } : { http2: "node" }),
  });
  onTestFinished(() => opened.port.close({ graceMs: 0 }));
  return { ...opened, served };
}

/**
 * A client that has been answered once, so that its connection is known. Returns a function that sends many requests in
 * one piece.
 */
type Client = (opened: OpenPort, served: string[]) => Promise<(paths: readonly string[]) => void>;

const overHttp2: Client = async (opened, served) => {
  const { socket } = await opened.dial("h2");
  const client = new RawHttp2Client(socket, []);
  onTestFinished(() => void socket.destroy());
  client.ask(1, "/first");
  await expect.poll(() => client.isAnswered(1)).toBe(true);
  served.length = 0;
  let next = 3;
  return (paths) => {
    const lists = paths.map((path, i) => listFrames(next + i * 2, requestOf(path), flags.endStream));
    next += paths.length * 2;
    socket.write(Buffer.concat(lists));
  };
};

const overHttp1: Client = async (opened, served) => {
  const { socket, received } = await opened.dial();
  onTestFinished(() => void socket.destroy());
  const requests = (paths: readonly string[]) =>
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: here\r\n\r\n`).join(""));
  requests(["/first"]);
  await expect.poll(received).toContain("ok");
  served.length = 0;
  return requests;
};

describe.each([
  { by: "the fast path", fastPath: true },
  { by: "Node", fastPath: false },
])("by $by", ({ fastPath }) => {
  describe.each(Object.entries(whens))("handlers that work %s", (_name, when) => {
    it.each([
      ["HTTP/2", "HTTP/2", overHttp2, overHttp2],
      ["HTTP/1.1", "HTTP/2", overHttp1, overHttp2],
      ["HTTP/2", "HTTP/1.1", overHttp2, overHttp1],
      ["HTTP/1.1", "HTTP/1.1", overHttp1, overHttp1],
    ])("leave many requests over %s waiting for one over %s that came with them", async (_many, _one, many, one) => {
      const opened = await openTurns(fastPath, when);
      const askOne = await one(opened, opened.served);
      const askMany = await many(opened, opened.served);
      const slow = Array.from({ length: slowRequests }, (_, i) => `/slow/${i}`);
      askMany(slow);
      askOne(["/one"]);
      await expect.poll(() => opened.served.length).toBe(slowRequests + 1);
      expect(opened.served.indexOf("/one")).toBeLessThan(5);
      expect(opened.served.filter((path) => path !== "/one")).toEqual(slow);
    });

    it("of several busy connections have their turns one after the other", async () => {
      const opened = await openTurns(fastPath, when);
      const clients = await Promise.all([overHttp2, overHttp1, overHttp2].map((open) => open(opened, opened.served)));
      for (const [i, ask] of clients.entries()) ask(Array.from({ length: 30 }, () => `/slow/${i}`));
      await expect.poll(() => opened.served.length).toBe(90);
      for (const i of clients.keys()) {
        const places = opened.served.flatMap((path, at) => (path === `/slow/${i}` ? [at] : []));
        const others = places.slice(1).map((place, at) => place - places[at]! - 1);
        // None waits for more than a turn of each of the others, neither for its first request. Which of them ends last
        // depends on what else the processor does.
        expect(Math.max(places[0]!, ...others)).toBeLessThan(12);
      }
    });
  });
});

describe.each([
  { by: "the fast path", fastPath: true },
  { by: "Node", fastPath: false },
])("an overloaded port, by $by", ({ fastPath }) => {
  it.each([
    ["HTTP/2", overHttp2],
    ["HTTP/1.1", overHttp1],
  ])("refuses what comes over %s, and serves again when nothing has waited for long", async (_, open) => {
    const answers: string[] = [];
    let slowServed = 0;
    let onTwentieth = () => {};
    const respond = (response: HttpResponse, status: number) =>
      (response as BufferedResponse).writeHead(status, { "content-length": 2 }).end("ok", "latin1");
    const serve = ({ url }: HttpRequest, response: HttpResponse) => {
      if (url!.startsWith("/slow")) work();
      answers.push(`served ${url}`);
      if (url!.startsWith("/slow") && ++slowServed === 20) onTwentieth();
      respond(response, 200);
    };
    const opened = await openPort(false, {
      limits: { maxWaitMs: 30 },
      onRequest: serve,
      onOverload({ url }, response) {
        answers.push(`refused ${url}`);
        respond(response, 503);
      },
      ...(fastPath ? { onBufferedRequest: serve, planFastPath: () => serve } : { http2: "node" }),
    });
    onTestFinished(() => opened.port.close({ graceMs: 0 }));
    const askOne = await open(opened, answers);
    const others = await Promise.all(Array.from({ length: 40 }, () => overHttp1(opened, answers)));
    answers.length = 0;
    onTwentieth = () => askOne(["/one"]);
    for (const [i, ask] of others.entries()) ask([`/slow/${i}`]);
    await expect.poll(() => answers.length).toBe(others.length + 1);
    expect(answers).toContain("refused /one");
    askOne(["/again"]);
    await expect.poll(() => answers.at(-1)).toBe("served /again");
  });
});

it("answers frames that need no handler while handlers wait for their turn", async () => {
  const opened = await openTurns(true, whens["where it is called"]!);
  const { socket } = await opened.dial("h2");
  const client = new RawHttp2Client(socket, []);
  onTestFinished(() => void socket.destroy());
  const lists = Array.from({ length: 50 }, (_, i) => listFrames(i * 2 + 1, requestOf("/slow"), flags.endStream));
  socket.write(Buffer.concat([...lists, frame(types.ping, 0, 0, Buffer.from("here now"))]));
  await expect.poll(() => client.of(types.ping).length, { interval: 1 }).toBe(1);
  const pingAt = client.frames.findIndex(({ type }) => type === types.ping);
  expect(client.frames.slice(0, pingAt).filter(({ type }) => type === types.headers).length).toBeLessThan(10);
  await expect.poll(() => opened.served.length).toBe(50);
});

it("lets others have their turns while a handler works that has waited for something", async () => {
  const turns = new Turns(1000);
  const payer = { account: "one", caller: "one", isKnown: true };
  await new Promise((resolve) => setImmediate(resolve));
  expect(turns.pause(payer)).toBeUndefined();
  work();
  const paused = turns.pause(payer);
  expect(paused).toBeInstanceOf(Promise);
  await paused;
  expect(turns.pause(payer)).toBeUndefined();
});
