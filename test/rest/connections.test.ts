/** What the handler does with connections: early refusals, clients that go away or read slowly. */
import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tryChain } from "../../src/awaitable.ts";
import { MessageParts } from "../../src/codec/index.ts";
import type { RestHandler, RestOptions } from "../../src/rest/index.ts";
import { type Client, exchange, http1Client } from "../http/clients.ts";
import { type Any, create } from "./fixture.ts";
import { handlerWith, seen, transport } from "./service.ts";

/** A server and a client session; `handled` settles as the handler does with the first request. */
async function observedHttp2(handler: RestHandler) {
  const { promise: handled, resolve, reject } = Promise.withResolvers<void>();
  const server = createHttp2Server(
    (request, response) => void tryChain(() => handler(request, response), resolve, reject),
  );
  await once(server.listen(0, "127.0.0.1"), "listening");
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { handled, session, server, close: () => server.close() };
}

async function cutOffHttp2(handler: RestHandler): Promise<void> {
  const { handled, session, server, close } = await observedHttp2(handler);
  const stream = session.request({ ":method": "PUT", ":path": "/v1/files/a" }).on("error", () => {});
  stream.write("some");
  await once(server, "stream");
  // Not stream.close(), which ends the stream in order before it resets it.
  session.destroy();
  await handled;
  close();
}

async function cutOffHttp1(handler: RestHandler): Promise<void> {
  const { promise: handled, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer((request, response) => void tryChain(() => handler(request, response), resolve, reject));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const socket = connectTcp((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("PUT /v1/files/a HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nsome");
  await once(server, "request");
  socket.destroy();
  await handled;
  server.close();
}

describe("connections", () => {
  let client: Client;
  let port: number;
  beforeAll(async () => {
    client = await http1Client(handlerWith());
    port = Number(new URL(client.origin).port);
  });
  afterAll(() => client.close());

  test("Expect: 100-continue", async () => {
    const text = await exchange(
      port,
      "POST /v1/repos/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n",
      '{"name":"n"}',
    );
    expect(text).toMatch(/100 Continue.*200 OK.*"name":"n"/s);
  });

  test.each([
    ["unknown path", "POST /nope HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 404],
    [
      "content type",
      "POST /v1/repos/a HTTP/1.1\r\nHost: x\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\n\r\n",
      415,
    ],
    ["length", "POST /v1/repos/a HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413],
    ["query", "POST /v1/repos/a?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n", 413],
    ["parameter", "POST /v1/repos/a?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n", 400],
  ])("a refusal for its %s does not wait for the body", async (_, head, status) => {
    const text = await exchange(port, head);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} .*Connection: close`, "is"));
    expect(JSON.parse(text.split("\r\n\r\n")[1] ?? "").code).toBeGreaterThan(0);
  });

  test("a refusal of a small body keeps the connection", async () => {
    const socket = connectTcp(port, "127.0.0.1");
    socket.write("POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
    await once(socket, "data");
    socket.write("GET /v1/repos/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const chunks = await socket.toArray();
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1.1 200/);
  });

  test("a request target in absolute form", async () => {
    expect(
      await exchange(
        port,
        "GET http://example.com/v1/repos/a?x=%zz HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n",
      ),
    ).toMatch(/^HTTP\/1.1 400/);
    expect(
      await exchange(
        port,
        "GET http://example.com/v1/repos/a HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n",
      ),
    ).toMatch(/^HTTP\/1.1 200/);
  });

  test("a call is aborted when its client goes away", async () => {
    const watched = Promise.withResolvers<AbortSignal>();
    seen.onUndelete = watched.resolve;
    const socket = connectTcp(port, "127.0.0.1");
    socket.write("POST /v1/images/1:undelete HTTP/1.1\r\nHost: x\r\n\r\n");
    const signal = await watched.promise;
    socket.destroy();
    if (!signal.aborted) await once(signal, "abort");
    expect(signal.aborted).toBe(true);
  });

  test("a body that is cut off makes no call, and the handler does not mind", async () => {
    for (const cut of [cutOffHttp1, cutOffHttp2]) {
      seen.message = undefined;
      await expect(cut(handlerWith())).resolves.toBeUndefined();
      expect(seen.message).toBeUndefined();
    }
  });

  test("a call whose HTTP/2 client has gone ends quietly", async () => {
    const { handled, session, close } = await observedHttp2(handlerWith());
    const waiting = Promise.withResolvers<AbortSignal>();
    seen.onUndelete = waiting.resolve;
    session.request({ ":method": "POST", ":path": "/v1/images/1:undelete" }, { endStream: true }).on("error", () => {});
    await waiting.promise;
    session.destroy();
    await expect(handled).resolves.toBeUndefined();
    close();
  });

  test("a stream waits for its reader, and ends with it", async () => {
    const socket = connectTcp(port, "127.0.0.1");
    socket.pause();
    socket.write("GET /v1/watch?count=100000 HTTP/1.1\r\nHost: x\r\n\r\n");
    let before = -1;
    while (before !== seen.inWatch || seen.inWatch === 0) {
      before = seen.inWatch;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(seen.inWatch).toBeLessThan(90_000);
    socket.destroy();
    expect((await client.call("/v1/repos/a")).status).toBe(200);
  });

  test.each(["/v1/watch?count=100000", "/v1/repos?page_size=100000"])(
    "a reader of %s that stalls loses its response",
    async (path) => {
      const stalling = await http1Client(handlerWith({ ...inParts(), limits: { stallMs: 100 } }));
      seen.hasWatchEnded = false;
      const socket = connectTcp(Number(new URL(stalling.origin).port), "127.0.0.1");
      socket.pause();
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      // It is left when the limit is over, and not before.
      await expect.poll(() => seen.hasWatchEnded, { timeout: 30_000 }).toBe(true);
      socket.on("error", () => {}).resume();
      await once(socket, "close");
      expect(seen.inWatch).toBeLessThan(90_000);
      await stalling.close();
    },
  );

  test("an answer in parts is one message, and is broken off when a part fails", async () => {
    const errors: unknown[] = [];
    const parted = await http1Client(handlerWith({ ...inParts(), onBrokenAnswer: (error) => errors.push(error) }));
    const { status, body } = await parted.call("/v1/repos?page_size=3");
    expect([status, JSON.parse(String(body)).repos.map(({ name }: { name: string }) => name)]).toEqual([
      200,
      ["0", "1", "2"],
    ]);
    expect(JSON.parse(String((await parted.call("/v1/repos?page_size=0")).body))).toEqual({ repos: [] });
    await expect(parted.call("/v1/repos?page_size=3&order_by=2")).rejects.toThrow();
    expect(errors).toEqual([expect.objectContaining({ message: "part 2 fails" })]);
    await parted.close();
  });
});

/** A list of `page_size` repos, each a part of the answer; part number `order_by` fails. */
function inParts(): Partial<RestOptions> {
  async function* partsOf({ pageSize, orderBy }: Any) {
    try {
      for (let i = 0; i < pageSize; i++) {
        if (orderBy === String(i)) throw new Error(`part ${i} fails`);
        seen.inWatch = i;
        const repo = create("Repo", { name: `${i}`, description: pageSize > 1000 ? "x".repeat(10_000) : "" });
        yield create("ListReposResponse", { repos: [repo] });
      }
    } finally {
      seen.hasWatchEnded = true;
    }
  }
  const begin: NonNullable<RestOptions["transport"]["begin"]> = (_method, message, _header, _timeoutMs, caller) => {
    expect(caller).toEqual({ takesParts: true });
    const answer = { message: new MessageParts(partsOf(message)), touchedHeader: undefined, touchedTrailer: undefined };
    return { answer, cancel() {} };
  };
  return {
    transport: { ...transport, begin },
    mayAnswerInParts: ({ name }) => name === "ListRepos",
  };
}
