/**
 * The fast path of HTTP/1.1, through the port: what it answers, what falls back to Node, and that the answers are the
 * same.
 */

import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { PortLimits } from "../../../src/http/limits.ts";
import type { OnePortOptions } from "../../../src/http/port.ts";
import type { BufferedResponse } from "../../../src/message/index.ts";
import { type OpenPort, openPort, variants } from "../open-port.ts";

const request = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;
const post = (body: string) => `POST /post HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

function answer(response: BufferedResponse, content: string): void {
  response.writeHead(200, { "content-length": content.length }).end(content, "latin1");
}

/** What the fast path and Node answered on this connection, in order. */
const answers = (received: string) => [...received.matchAll(/\[(\w+ [^\]]*)\]/g)].map(([, said]) => said);

describe.each(variants.filter(({ fastPath }) => fastPath))("$variant", ({ secure }) => {
  /** A port that says who answers, and what. */
  async function open(options: Partial<OnePortOptions> = {}): Promise<OpenPort> {
    const opened = await openPort(secure, {
      async onRequest(incoming, response) {
        const body = incoming.readableEnded ? "" : await text(incoming);
        response.end(`[node ${incoming.url}${body}]`);
      },
      onBufferedRequest: ({ url, bufferedBody }, response) => answer(response, `[fast ${url}${bufferedBody}]`),
      ...options,
    });
    onTestFinished(() => opened.port.close({ graceMs: 0 }));
    return opened;
  }

  it("serves one request after the other", async () => {
    const { socket, received } = await (await open()).dial();
    for (let i = 1; i < 4; i++) {
      socket.write(i % 2 ? request(`/${i}`) : post("body"));
      await expect.poll(() => answers(received()).length).toBe(i);
    }
    expect(answers(received())).toEqual(["fast /1", "fast /postbody", "fast /3"]);
  });

  it("serves thousands that come at once, in their order", async () => {
    const { socket, received } = await (await open()).dial();
    const paths = Array.from({ length: 5000 }, (_, i) => `/${i}`);
    socket.write(paths.map((path) => request(path)).join(""));
    await expect.poll(() => answers(received()).length).toBe(paths.length);
    expect(answers(received()).every((said, i) => said?.endsWith(` /${i}`))).toBe(true);
  });

  it.each([
    ["another method", "HEAD /head HTTP/1.1\r\nhost: x\r\n\r\n", []],
    [
      "a chunked body",
      "POST /c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
      ["node /cok"],
    ],
    ["an absolute target", "GET http://x/a HTTP/1.1\r\nhost: x\r\n\r\n", ["node /a"]],
    ["an absolute target without a path", "GET HTTPS://x?a=/b HTTP/1.1\r\nhost: x\r\n\r\n", ["node /?a=/b"]],
  ])("leaves a connection to Node from %s on", async (_what, bytes, then) => {
    const { socket, received } = await (await open()).dial();
    socket.write(request("/1"));
    await expect.poll(() => answers(received())).toEqual(["fast /1"]);
    socket.write(request("/2") + bytes + request("/3"));
    await expect.poll(() => answers(received())).toEqual(["fast /1", "fast /2", ...then, "node /3"]);
    socket.write(post("last"));
    await expect.poll(() => answers(received()).at(-1)).toBe("node /postlast");
  });

  it("leaves a body that comes later to Node, wherever it is cut", async () => {
    const port = await open();
    const bytes = post("body");
    for (let at = 1; at < bytes.length; at += 5) {
      const { socket, received } = await port.dial();
      socket.write(request("/1") + bytes.slice(0, at));
      await expect.poll(() => answers(received())).toEqual(["fast /1"]);
      socket.write(bytes.slice(at));
      await expect.poll(() => answers(received())).toEqual(["fast /1", "node /postbody"]);
      socket.destroy();
    }
  });

  it("answers in order when the first has to wait, and the next is not simple", async () => {
    const port = await open({
      onBufferedRequest: ({ url }, response) => {
        if (url === "/slow") setTimeout(() => answer(response, "[fast /slow]"), 50);
        else answer(response, `[fast ${url}]`);
      },
    });
    const { socket, received } = await port.dial();
    socket.write(request("/slow") + request("/2"));
    await sleep(10);
    expect(received()).toBe("");
    socket.write(request("/3") + request("/4", "x_y: z\r\n") + request("/5"));
    const all = ["fast /slow", "fast /2", "fast /3", "node /4", "node /5"];
    await expect.poll(() => answers(received())).toEqual(all);
  });

  it("lets a request fall back to Node, with its body and what follows", async () => {
    const port = await open({
      onBufferedRequest: ({ url }, response) => {
        if (url === "/post") setTimeout(() => response.fallBack(), 20);
        else answer(response, `[fast ${url}]`);
      },
    });
    const { socket, received } = await port.dial();
    socket.write(request("/1") + post("body") + request("/2"));
    await expect.poll(() => answers(received())).toEqual(["fast /1", "node /postbody", "node /2"]);
  });

  it("sends nothing for a request that has fallen back", async () => {
    const port = await open({
      onBufferedRequest: (_request, response) => {
        response.fallBack();
        expect(response.destroyed).toBe(true);
        answer(response, "[fast twice]");
      },
    });
    const { socket, received } = await port.dial();
    socket.write(request("/1"));
    await expect.poll(() => answers(received())).toEqual(["node /1"]);
  });

  it("answers with the head that Node would send", async () => {
    const fields = { "content-type": "text/plain", "content-length": 2, "set-cookie": ["a=1", "b=2"], ETag: '"x"' };
    const port = await open({
      onRequest: (_request, response) => void (response as ServerResponse).writeHead(404, fields).end("no"),
      onBufferedRequest: (_request, response) => {
        response.setHeader("x-set", "before");
        response.writeHead(404, fields).end("no", "latin1");
      },
    });
    const { socket, received } = await port.dial();
    socket.write(request("/fast") + request("/node", "x_y: z\r\n"));
    await expect.poll(() => received().split("HTTP/1.1").length).toBe(3);
    const [, byFastPath = "", byNode = ""] = received().split("HTTP/1.1");
    expect(byFastPath).toContain("x-set: before\r\n");
    const seconds = /(Date: .*):\d\d GMT/;
    expect(byFastPath.replace("x-set: before\r\n", "").replace(seconds, "$1")).toBe(byNode.replace(seconds, "$1"));
  });

  it("sends text and bytes, ASCII or not", async () => {
    const contents = ["plain", "üñï ✓", Buffer.from([0, 255, 13, 10]), ""];
    const port = await open({
      onBufferedRequest({ url }, response) {
        const content = contents[Number(url.slice(1))]!;
        response.writeHead(200, { "content-length": Buffer.byteLength(content) }).end(content, "utf8");
      },
    });
    const { socket, received } = await port.dial();
    for (const [i, content] of contents.entries()) {
      socket.write(request(`/${i}`));
      const bytes = Buffer.from(content as string).toString("latin1");
      await expect.poll(() => received().split("HTTP/1.1")[i + 1]).toMatch(new RegExp(`\r\n\r\n${bytes}$`, "s"));
    }
  });

  it.each([
    ["a line break", "x\r\nset-cookie: evil=1"],
    ["what is not ASCII", "ü"],
  ])("answers 500 to a field with %s, and goes on", async (_what, value) => {
    const port = await open({
      onBufferedRequest({ url }, response) {
        if (url === "/bad") response.writeHead(200, { "content-length": 0, "x-bad": value }).end("", "latin1");
        else answer(response, "[fast good]");
      },
    });
    const { socket, received } = await port.dial();
    socket.write(request("/bad") + request("/good"));
    await expect.poll(() => answers(received())).toEqual(["fast good"]);
    expect(received()).toMatch(/^HTTP\/1.1 500 /);
    expect(received()).not.toContain("evil");
    expect(port.errors).toHaveLength(1);
  });

  it("answers 500 when the handler throws, and goes on", async () => {
    const port = await open({
      onBufferedRequest({ url }, response) {
        if (url === "/bug") throw new Error("bug");
        answer(response, "[fast good]");
      },
    });
    const { socket, received } = await port.dial();
    socket.write(request("/bug") + request("/good"));
    await expect.poll(() => answers(received())).toEqual(["fast good"]);
    expect(received()).toMatch(/^HTTP\/1.1 500 .*\{"code":500,"message":"refused","details":\[\]\}HTTP/s);
  });

  it.each(["destroy", "end"] as const)("reports a client that is gone by %s before its answer", async (leave) => {
    let goneAfter: boolean | undefined;
    const port = await open({
      onBufferedRequest: (_request, response) =>
        response.once("close", () => {
          goneAfter = response.writableEnded;
          answer(response, "too late");
        }),
    });
    const { socket } = await port.dial();
    socket.write(request("/"));
    await sleep(20);
    expect(goneAfter).toBeUndefined();
    socket[leave]();
    await expect.poll(() => goneAfter).toBe(false);
    expect(port.errors).toEqual([]);
  });

  it("does not report a client that goes after its answer", async () => {
    let isReadReported = false;
    const port = await open({
      onBufferedRequest(_request, response) {
        response.once("close", () => {
          isReadReported = true;
        });
        answer(response, "[fast x]");
      },
    });
    const { socket, received, closed } = await port.dial();
    socket.write(request("/"));
    await expect.poll(() => answers(received())).toHaveLength(1);
    socket.destroy();
    await closed;
    await sleep(20);
    expect(isReadReported).toBe(false);
  });

  it("reads no further than 64 KiB beyond a request that it answers", async () => {
    const held: BufferedResponse[] = [];
    const port = await open({ onBufferedRequest: (_request, response) => void held.push(response) });
    const { socket, received } = await port.dial();
    const count = 200_000;
    socket.write(request("/").repeat(count));
    await expect.poll(() => held.length).toBe(1);
    await sleep(50);
    expect(socket.writableLength + socket.bytesWritten).toBeGreaterThan(4_000_000);
    expect(socket.writableLength).toBeGreaterThan(0); // what the server does not read waits with the client
    for (let next = held.pop(); next !== undefined; next = held.pop()) answer(next, "[fast x]");
    await expect.poll(() => held.length + answers(received()).length).toBeGreaterThan(1);
    socket.destroy();
  });

  describe("a client that does not take its answer", () => {
    const large = Buffer.alloc(8 * 1024 * 1024);

    /** Asks for more than the system holds, `times`, and takes nothing. */
    async function askForMuch(times: number, limits: Partial<PortLimits>) {
      const served: BufferedResponse[] = [];
      const { dial, errors } = await open({
        limits,
        onBufferedRequest(_request, response) {
          served.push(response);
          response.writeHead(200, { "content-length": large.length }).end(large, "latin1");
        },
      });
      const { socket, closed } = await dial();
      socket.pause().write(request("/").repeat(times));
      await expect.poll(() => served).toHaveLength(1);
      return { served, errors, socket, closed };
    }

    it("is waited for", async () => {
      const { served, socket } = await askForMuch(10, {});
      await sleep(50);
      expect(served).toHaveLength(1);
      socket.resume();
      await expect.poll(() => served).toHaveLength(10);
    });

    it("is given up in the end", async () => {
      const { served, errors, socket, closed } = await askForMuch(1, { responseMs: 200 });
      await expect.poll(() => served[0]?.destroyed).toBe(true);
      expect(errors).toEqual([]);
      socket.resume();
      expect((await closed).length).toBeLessThan(large.length);
    });
  });

  it("closes idle connections at once and the others after their answer, which says so", async () => {
    const held: BufferedResponse[] = [];
    const port = await open({
      onBufferedRequest({ url }, response) {
        if (url === "/held") held.push(response);
        else answer(response, "[fast x]");
      },
    });
    const idle = await port.dial();
    idle.socket.write(request("/"));
    await expect.poll(() => answers(idle.received())).toHaveLength(1);
    const busy = await port.dial();
    busy.socket.write(request("/held") + request("/after"));
    await expect.poll(() => held.length).toBe(1);
    const closed = port.port.close({ graceMs: 10_000 });
    await idle.closed;
    answer(held[0]!, "[fast last]");
    const received = await busy.closed;
    expect(answers(received)).toEqual(["fast last"]);
    expect(received).toContain("Connection: close\r\n");
    await closed;
  });

  it("answers once more on a connection that is idle when the port closes, and says that it ends", async () => {
    const port = await open({ onBufferedRequest: ({ url }, response) => answer(response, `[fast ${url}]`) });
    const { socket, received, closed } = await port.dial();
    socket.write(request("/1"));
    await expect.poll(() => answers(received())).toHaveLength(1);
    const portClosed = port.port.close({ graceMs: 60_000, idleMs: 60_000 }); // longer than the test may take
    await sleep(50);
    socket.write(request("/2"));
    expect(answers(await closed)).toEqual(["fast /1", "fast /2"]);
    expect(received().match(/Connection: \S+/g)).toEqual(["Connection: keep-alive", "Connection: close"]);
    await portClosed;
  });

  it.each([0, 20])("closes after the answer to a client that asks for it, given after %i ms", async (ms) => {
    const port = await open({
      onBufferedRequest: ({ url }, response) => {
        if (ms === 0) answer(response, `[fast ${url}]`);
        else setTimeout(() => answer(response, `[fast ${url}]`), ms);
      },
    });
    const { socket, closed } = await port.dial();
    socket.write(request("/1") + request("/2", "Connection: close\r\n") + request("/3"));
    const received = await closed;
    expect(answers(received)).toEqual(["fast /1", "fast /2"]);
    expect(received.match(/Connection: \S+/g)).toEqual(["Connection: keep-alive", "Connection: close"]);
  });

  it("sends all of an answer before it closes", async () => {
    const length = 8 * 1024 * 1024;
    let isAnswered = false;
    const port = await open({
      onBufferedRequest(_request, response) {
        response.writeHead(200, { "content-length": length }).end(Buffer.alloc(length), "latin1");
        isAnswered = true;
      },
    });
    const { socket, closed } = await port.dial();
    socket.pause().write(request("/"));
    await expect.poll(() => isAnswered).toBe(true);
    const portClosed = port.port.close({ graceMs: 10_000 });
    await sleep(50);
    socket.resume();
    expect((await closed).length).toBeGreaterThan(length);
    await portClosed;
  });

  it("reports a read once for all requests that were ready, and again for each that waited", async () => {
    const events: string[] = [];
    const port = await open({
      onRead: () => events.push("read"),
      onBufferedRequest({ url }, response) {
        events.push(url);
        answer(response, `[fast ${url}]`);
      },
    });
    const { socket, received } = await port.dial();
    socket.write(request("/1") + request("/2"));
    await expect.poll(() => answers(received())).toHaveLength(2);
    expect(events).toEqual(["read", "/1", "read", "/2"]);
  });
});

it("reads a large body whole, in its order, that comes while others are served", async () => {
  let isOver = false;
  const { port, dial } = await openPort(false, {
    onRequest: (request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece)).on("end", () => response.end(Buffer.concat(pieces)));
    },
    onBufferedRequest(_request, response) {
      const startMs = performance.now();
      while (performance.now() - startMs < 6);
      response.writeHead(200, { "content-length": 2 }).end("ok", "latin1");
    },
  });
  onTestFinished(() => port.close({ graceMs: 0 }));
  for (let i = 0; i < 6; i++) {
    const { socket } = await dial();
    const ask = () => isOver || socket.write("GET /slow HTTP/1.1\r\nhost: here\r\n\r\n");
    socket.on("data", ask);
    ask();
  }
  for (let i = 0; i < 8; i++) {
    const { socket, received } = await dial();
    const letters = ["a", "b", "c", "d", "e"].map((letter) => letter.repeat(70_000 + 1000 * i));
    const length = letters.join("").length;
    socket.write("POST /body HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n");
    for (const piece of letters) {
      socket.write(`${piece.length.toString(16)}\r\n`);
      socket.write(`${piece}\r\n`);
    }
    socket.write("0\r\n\r\n");
    await expect.poll(() => received().length).toBeGreaterThan(length);
    expect(received().startsWith("HTTP/1.1 200 OK\r\n")).toBe(true);
    expect(received().endsWith(letters.join(""))).toBe(true);
    socket.destroy();
  }
  isOver = true;
});
