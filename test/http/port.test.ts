import { once } from "node:events";
import { request as request1, type ServerResponse } from "node:http";
import { type ClientHttp2Session, connect as connect2 } from "node:http2";
import { request as request1s } from "node:https";
import { connect as connectTcp } from "node:net";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { connect as connectSecurely, TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { frame, preface, settingsFrame, types } from "../../src/http/http2/frames.ts";
import type { PortLimits } from "../../src/http/limits.ts";
import type { OnePortOptions } from "../../src/http/port.ts";
import { certificate, type OpenPort, onFastPath, openPort, variants } from "./open-port.ts";

const settings = settingsFrame(new Map());
/** For connections that are to be given up at any stage. */
const impatient = {
  firstBytesMs: 100,
  headersMs: 100,
  requestMs: 100,
  keepAliveMs: 100,
  firstStreamMs: 100,
  sessionIdleMs: 100,
  lingerMs: 50,
};
/** HEADERS of stream 1 with `:method: GET` and neither END_HEADERS nor an end. */
const unfinishedHeaders = frame(types.headers, 0, 1, Buffer.of(0x82));

describe.each(variants)("one port, $variant", ({ secure, fastPath }) => {
  async function open(options: Partial<OnePortOptions> = {}): Promise<OpenPort> {
    const opened = await openPort(secure, { ...(fastPath ? onFastPath(options) : { http2: "node" }), ...options });
    onTestFinished(() => opened.port.close({ graceMs: 0 }));
    return opened;
  }

  function session({ origin }: OpenPort): ClientHttp2Session {
    const client = connect2(origin, { ca: certificate.cert });
    client.on("error", () => {});
    onTestFinished(() => client.destroy());
    return client;
  }

  async function post1({ origin }: OpenPort, body: string, headers: Record<string, string> = {}) {
    const client = (secure ? request1s : request1)(origin, { method: "POST", ca: certificate.cert, headers });
    client.end(body);
    const [response] = await once(client, "response");
    return { status: response.statusCode as number, headers: response.headers, body: await text(response) };
  }

  async function post2(client: ClientHttp2Session, body: string, headers: Record<string, string> = {}) {
    const stream = client.request({ ":method": "POST", ":path": "/", ...headers });
    stream.end(body);
    const [response] = await once(stream, "response");
    return { status: response[":status"] as number, body: await text(stream) };
  }

  it("serves HTTP/1.1 and HTTP/2 side by side", async () => {
    const port = await open();
    expect(await post1(port, "one")).toMatchObject({ status: 200, body: "one" });
    expect(await post2(session(port), "two")).toEqual({ status: 200, body: "two" });
  });

  it("keeps an HTTP/1.1 connection for the next request", async () => {
    const port = await open();
    const { socket, received } = await port.dial();
    const requests = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    socket.write(requests);
    await expect.poll(() => received().split("200 OK").length).toBe(2);
    socket.write(requests + requests);
    await expect.poll(() => received().split("200 OK").length).toBe(4);
  });

  it.each(["POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nok", "\r\nPUT / HTTP/1.1\r\nhost: x\r\n\r\n"])(
    "reads HTTP/1.1 that comes byte by byte: %j",
    async (request) => {
      const { socket, received } = await (await open()).dial();
      for (const byte of request) {
        socket.write(byte);
        await new Promise(setImmediate);
      }
      await expect.poll(received).toContain("200 OK");
    },
  );

  it("reads an HTTP/2 preface that comes byte by byte", async () => {
    const { socket, received } = await (await open()).dial("h2");
    for (const byte of preface) {
      socket.write(byte);
      await new Promise(setImmediate);
    }
    socket.write(settings);
    await expect.poll(() => received().slice(3, 5)).toBe("\x04\x00"); // The server's SETTINGS.
  });

  it("answers 500 with a body when the handler throws, and goes on", async () => {
    let calls = 0;
    const port = await open({
      onRequest(_request, response) {
        if (calls++ < 2) throw new Error("bug");
        response.end("fine");
      },
    });
    const client = session(port);
    expect(await post1(port, "")).toMatchObject({ status: 500, body: expect.stringContaining("refused") });
    expect(await post2(client, "")).toMatchObject({ status: 500, body: expect.stringContaining("refused") });
    expect(await post2(client, "")).toMatchObject({ status: 200 });
    expect(port.errors.map((e) => e.message)).toEqual(["bug", "bug"]);
  });

  it("does not let half an answer look complete when the handler throws", async () => {
    const port = await open({
      onRequest(_request, response) {
        (response as ServerResponse).writeHead(200).write("half");
        throw new Error("bug");
      },
    });
    await expect(post1(port, "")).rejects.toThrow();
    await expect(post2(session(port), "")).rejects.toThrow("NGHTTP2_INTERNAL_ERROR");
  });

  it("answers a request that it does not read in full, and then resets the rest of the request", async () => {
    const port = await open({ onRequest: (_request, response) => void response.end("early") });
    const client = session(port);
    expect(await post2(client, "unread")).toEqual({ status: 200, body: "early" });
    const endless = client.request({ ":method": "POST", ":path": "/" });
    const sending = setInterval(() => endless.write(Buffer.alloc(16_384)), 1);
    expect(await text(endless)).toBe("early");
    if (!endless.closed) await once(endless, "close");
    clearInterval(sending);
    expect(endless.rstCode).toBe(0);
  });

  it.each<[what: string, bytes: string, status: number, limits?: Partial<PortLimits>]>([
    ["garbage", "\x00\x01\x02\r\n\r\n", 400],
    ["a request line without a target", "GET\r\n\r\n", 400],
    ["a header without a name", "GET / HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n", 400],
    ["no host", "GET / HTTP/1.1\r\n\r\n", 400],
    ["a target with a user", "GET http://a@x/ HTTP/1.1\r\nhost: x\r\n\r\n", 400],
    ["a target without an authority", "GET http:///a HTTP/1.1\r\nhost: x\r\n\r\n", 400],
    ["two lengths", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", 400],
    ["CONNECT", "CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n", 400],
    ["an unknown expectation", "GET / HTTP/1.1\r\nhost: x\r\nexpect: tea\r\n\r\n", 417],
    ["a header over the limit", `GET / HTTP/1.1\r\nhost: x\r\na: ${"y".repeat(16 * 1024)}\r\n\r\n`, 431],
    ["a target over the limit", `GET /${"y".repeat(200 * 1024)} HTTP/1.1\r\nhost: x\r\n\r\n`, 431],
    ["half a header", "GET / HTTP/1.1\r\nho", 408, { headersMs: 100 }],
    ["half a body", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf", 408, { requestMs: 100 }],
  ])("refuses HTTP/1.1 with a body and closes: %s", async (_what, bytes, status, limits = {}) => {
    const onRequest: OnePortOptions["onRequest"] = (request, response) =>
      void request.on("end", () => response.end()).resume();
    const { socket, closed } = await (await open({ limits, onRequest })).dial();
    socket.write(bytes);
    const answer = await closed;
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain("connection: close");
    expect(answer).toContain(`{"code":${status},"message":"refused","details":[]}`);
  });

  it("refuses a bad request after a good one on the same connection", async () => {
    const { socket, received, closed } = await (await open()).dial();
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(received).toContain("200 OK");
    socket.write("GET\r\n\r\n");
    expect(await closed).toContain('{"code":400,"message":"refused","details":[]}');
  });

  it.each([
    ["a header over the limit", { a: "y".repeat(16 * 1024) }],
    [
      "headers over the limit in sum",
      Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`a${i}`, "y".repeat(400)])),
    ],
  ])("refuses HTTP/2 with %s, whether or not its SETTINGS were acknowledged", async (_what, headers) => {
    const port = await open();
    const client = session(port);
    const first = await post2(client, "x", headers).catch((error) => error);
    const second = await post2(client, "x", headers).catch((error) => error);
    for (const outcome of [first, second]) expect(outcome.status === 431 || outcome instanceof Error).toBe(true);
    expect(await post2(client, "still alive")).toEqual({ status: 200, body: "still alive" });
  });

  it("announces its HTTP/2 limits", async () => {
    const client = session(await open());
    const [announced] = await once(client, "remoteSettings");
    expect(announced).toMatchObject({ maxConcurrentStreams: 100, maxHeaderListSize: 16 * 1024 });
  });

  it.each([
    ["nothing", "http/1.1", []],
    ["nothing", "h2", []],
    ["the preface", "h2", [preface]],
    ["the preface and SETTINGS", "h2", [preface, settings]],
    ["an unfinished header block", "h2", [preface, settings, unfinishedHeaders]],
    ["a damaged preface", "h2", ["PRI * HTTP/3.0\r\n\r\n"]],
    ["pings", "h2", [preface, settings, ...Array(9).fill(frame(types.ping, 0, 0, Buffer.alloc(8)))]],
  ] as const)("closes a connection that sends only %s (%s)", async (_what, alpn, chunks) => {
    const { socket, closed } = await (await open({ limits: impatient })).dial(alpn);
    for (const chunk of chunks) socket.write(chunk);
    await closed;
  });

  it("closes an HTTP/2 session that has gone idle, saying GOAWAY", async () => {
    const client = session(await open({ limits: { sessionIdleMs: 200 } }));
    expect(await post2(client, "x")).toMatchObject({ status: 200 });
    const [code] = await once(client, "goaway");
    expect(code).toBe(0);
    await once(client, "close");
  });

  it("does not take an HTTP/2 session with an open stream for idle", async () => {
    const port = await open({
      limits: { sessionIdleMs: 200 },
      onRequest: (_request, response) => void setTimeout(() => response.end("late"), 400),
    });
    expect(await post2(session(port), "")).toEqual({ status: 200, body: "late" });
  });

  it("resets an HTTP/2 stream whose body stalls, and only that", async () => {
    const client = session(await open({ limits: { requestMs: 200 } }));
    const stalled = client.request({ ":method": "POST", ":path": "/" });
    stalled.on("error", () => {});
    stalled.write("half");
    await once(stalled, "close");
    expect(await post2(client, "whole")).toEqual({ status: 200, body: "whole" });
  });

  it("gives up a response that the peer does not take", async () => {
    let givenUp = 0;
    const port = await open({
      limits: { responseMs: 200 },
      onRequest(_request, response) {
        response.once("close", () => {
          givenUp++;
        });
        response.end(Buffer.alloc(32 * 1024 * 1024));
      },
    });
    const stalled = session(port).request({ ":path": "/" });
    stalled.on("error", () => {});
    const { socket } = await port.dial();
    socket.pause().write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    await expect.poll(() => givenUp).toBe(2);
    socket.destroy();
  });

  it("closes an HTTP/1.1 connection that has gone idle", async () => {
    const { socket, closed } = await (await open({ limits: { keepAliveMs: 100 } })).dial();
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    expect(await closed).toContain("200 OK");
  });

  it("accepts no more connections than the limit", async () => {
    const port = await open({ limits: { maxConnections: 1 } });
    await port.dial();
    const surplus = await port.dial(null);
    await surplus.closed;
  });

  it("survives peers that vanish at any point, and then rests", async () => {
    const port = await open({ limits: impatient });
    const starts = [
      "",
      "P",
      "PR",
      "PRI",
      preface,
      "GET / HTTP/1.1\r\nhost",
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nab",
    ];
    for (const start of starts) {
      for (const alpn of ["http/1.1", "h2", null] as const) {
        for (const leave of ["resetAndDestroy", "destroy", "end"] as const) {
          const { socket } = await port.dial(alpn);
          if (start !== "") socket.write(start);
          await new Promise(setImmediate);
          if (leave === "resetAndDestroy" && socket instanceof TLSSocket)
            socket.destroy(); // TLS sockets cannot reset.
          else socket[leave]();
        }
      }
    }
    // Once more if the machine was too slow for such limits.
    await expect.poll(() => post1(port, "alive")).toMatchObject({ status: 200, body: "alive" });
    const before = process.cpuUsage();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { user, system } = process.cpuUsage(before);
    console.log(`idle for 200 ms: ${Math.round((user + system) / 1000)} ms of processor time`);
  });
});

describe("one port, cleartext only", () => {
  it.each(["", "P", "PR"])("closes a connection that sends only %j", async (start) => {
    const { port, dial } = await openPort(false, { limits: { firstBytesMs: 100 } });
    onTestFinished(() => port.close({ graceMs: 0 }));
    const { socket, closed } = await dial();
    if (start !== "") socket.write(start);
    expect(await closed).toBe("");
  });

  it("rejects when the address is taken", async () => {
    const { port, number } = await openPort(false);
    onTestFinished(() => port.close({ graceMs: 0 }));
    const { port: other, number: free } = await openPort(false);
    await other.close({ graceMs: 0 });
    expect(free).not.toBe(number);
    const { createOnePort } = await import("../../src/http/port.ts");
    const second = createOnePort({ onRequest: () => {}, refusalBody: () => "" });
    await expect(second.listen({ host: "127.0.0.1", port: number })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});

describe("one port, TLS only", () => {
  it.each(["", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01"])(
    "closes a connection without a handshake: %j",
    async (start) => {
      const { port, dial } = await openPort(true, { limits: { handshakeMs: 100 } });
      onTestFinished(() => port.close({ graceMs: 0 }));
      const { socket, closed } = await dial(null);
      if (start !== "") socket.write(start);
      await closed;
    },
  );
});

describe("HTTP without TLS to a port that speaks TLS", () => {
  it.each([
    "GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    "DELETE /a HTTP/1.1\r\nhost: x\r\n\r\n",
    `POST / HTTP/1.1\r\n${"x".repeat(100_000)}`,
    preface,
  ])("%.20s is answered once, with 400, and the connection closed", async (sent) => {
    const { port, dial } = await openPort(true);
    onTestFinished(() => port.close({ graceMs: 0 }));
    const { socket, closed } = await dial(null);
    socket.end(sent);
    const text = await closed;
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(text).toContain("connection: close");
    expect(text.split("\r\n\r\n")[1]).toBe(JSON.stringify({ code: 426, message: "refused", details: [] }));
  });

  it("and TLS whose first bytes come one by one is TLS", async () => {
    const { port, number } = await openPort(true);
    onTestFinished(() => port.close({ graceMs: 0 }));
    const raw = connectTcp(number, "127.0.0.1");
    const slow = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        for (const byte of chunk) raw.write(Buffer.of(byte));
        done();
      },
    });
    raw.setNoDelay(true).on("data", (chunk) => slow.push(chunk));
    const secured = connectSecurely({ socket: slow, ca: certificate.cert, host: "127.0.0.1" });
    await once(secured, "secureConnect");
    raw.destroy();
  });
});
