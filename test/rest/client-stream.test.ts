/** Client streams: the messages of one request, through ports. */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFetchHandler, type RestOptions } from "../../src/rest/index.ts";
import { fastPathClient, http1Client, http2Client } from "../http/clients.ts";
import { type Any, get, library, libraryWith, post, registry } from "./fixture.ts";
import { serveFetch } from "./hosts/fetch-server.ts";
import { handlerWith, seen, transport } from "./service.ts";

const lines = (body: string | Uint8Array, headers: Record<string, string> = {}) => ({
  method: "POST",
  headers: { "content-type": "application/x-ndjson", ...headers },
  body,
});

/** The service on a transport that knows it by its names. */
function serving(methodName: string, rule: object): Partial<RestOptions> {
  const service = libraryWith(methodName, rule);
  const original = library.methods.find(({ name }) => name === methodName)!;
  const through = {
    ...transport,
    stream: (_: unknown, ...more: Any) => (transport.stream as Any)(original, ...more),
  };
  return { services: [service], transport: through as Any };
}

describe.each([
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
  ["HTTP/2, fast path", fastPathClient],
] as const)("%s", (_, createClient) => {
  async function start(options: Partial<RestOptions> = {}) {
    const client = await createClient(handlerWith({ json: {}, ...options }));
    onTestFinished(() => client.close());
    return client;
  }

  test("each line is a message, with the fields of path and query", async () => {
    const { call } = await start();
    const answer = await call("/v1/collect/d", lines('{"name":"a"}\r\n\n{"name":"é"}\n  \n{"name":"c"}'));
    expect(answer.json.repos).toEqual(["a", "é", "c"].map((name) => ({ name, description: "d" })));
    expect([answer.status, answer.headers["x-count"]]).toEqual([200, "3"]);
  });

  test("no body is not a message", async () => {
    const { call } = await start();
    expect((await call("/v1/collect/d", { method: "POST" })).json).toEqual({});
    expect((await call("/v1/collect/d", lines(""))).json).toEqual({});
  });

  test.each([get("/v1/one/{description}"), post("/v1/one/{description}")])(
    "a rule without a body makes one message of path and query: %j",
    async (rule) => {
      const method = rule.pattern.case.toUpperCase();
      const { call } = await start(serving("Collect", rule));
      const answer = await call("/v1/one/d?name=a", { method });
      expect(answer.json).toEqual({ repos: [{ name: "a", description: "d" }] });
      const withBody = await call("/v1/one/d", { ...lines('{"name":"b"}'), method });
      expect([withBody.status, withBody.json.message]).toEqual([400, "Invalid argument: this method takes no body"]);
      expect((await call("/v1/one/d?nope=1", { method })).status).toBe(400);
    },
  );

  test("an empty HttpBody is one message", async () => {
    const { call } = await start(serving("UploadStream", post("/v1/uploads/{uid=**}", { body: "content" })));
    const answer = await call("/v1/uploads/a/b", { method: "POST", headers: { "content-type": "image/x-odd" } });
    expect(answer.json).toEqual({ uid: "a/b", content: { contentType: "image/x-odd" } });
  });

  test("a HttpBody is sent on piece by piece", async () => {
    const { call } = await start();
    const body = Buffer.alloc(300_000, "0123456789");
    const headers = { "content-type": "image/x-odd" };
    const answer = await call("/v1/uploads/a/b", { method: "POST", headers, body, chunked: true });
    expect([answer.status, answer.headers["content-type"], answer.body.equals(body)]).toEqual([
      200,
      "image/x-odd",
      true,
    ]);
  });

  test.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ])("a HttpBody is decompressed by %s, within the limit", async (coding, compress) => {
    const { call } = await start({ limits: { maxBodyBytes: 10, maxStreamBytes: 300_000 } });
    const send = (body: Uint8Array, more: object = {}) =>
      call("/v1/uploads/a/b", {
        method: "POST",
        headers: { "content-type": "image/x-odd", "content-encoding": coding },
        body,
        chunked: true,
        ...more,
      });
    const body = Buffer.alloc(300_000, "0123456789");
    const answer = await send(compress(body));
    expect([answer.status, answer.body.equals(body)]).toEqual([200, true]);
    expect((await send(compress(Buffer.alloc(300_001)))).status).toBe(413);
    expect((await send(compress(body).subarray(0, -5))).status).toBe(400);
    expect((await send(Buffer.from("neither"))).status).toBe(400);
    expect((await send(Buffer.alloc(300_001), { headers: { "content-encoding": "identity" } })).status).toBe(413);
    expect((await send(Buffer.alloc(300_001), { headers: {}, chunked: false })).status).toBe(413);
    expect((await send(body, { headers: { "content-encoding": "zip" } })).status).toBe(415);
  });

  test.each<[string, object, number]>([
    ["a line that is not JSON", lines('{"name":"a"}\n{nope}\n'), 400],
    ["a line of another type", lines('{"name":1}\n'), 400],
    ["an unknown parameter", lines('{"name":"a"}\n'), 400],
    ["a type that is not a stream", lines("{}", { "content-type": "application/json" }), 415],
    ["compression", lines(gzipSync("{}"), { "content-encoding": "gzip" }), 415],
    ["lines in UTF-16", lines("{}", { "content-type": "application/x-ndjson; charset=utf-16" }), 415],
    ["a line that is too long", lines(`{"name":"${"x".repeat(100)}"}\n`), 413],
    ["a service that ends with an error", lines('{"name":"stop"}\n{"name":"a"}\n'), 409],
  ])("%s is an error", async (name, given, status) => {
    const { call } = await start({ limits: { maxBodyBytes: 50 } });
    const query = name === "an unknown parameter" ? "?nope=1" : "";
    expect((await call(`/v1/collect/d${query}`, given)).status).toBe(status);
  });

  test("a service may answer before the end of the body", async () => {
    const { call } = await start();
    const answer = await call("/v1/collect/d", lines(`{"name":"early"}\n${'{"name":"b"}\n'.repeat(100)}`));
    expect([answer.status, seen.collected]).toEqual([200, 1]);
  });
});

test("a client that waits is asked for its stream, unless it is refused", async () => {
  const client = await http1Client(handlerWith({ sendsContinue: true }), (server) => {
    server.on("checkContinue", (request, response) => server.emit("request", request, response));
  });
  onTestFinished(() => client.close());
  for (const [path, status] of [
    ["/v1/collect/d", 200],
    ["/v1/collect/d?nope=1", 400],
  ] as const) {
    const request = httpRequest(`${client.origin}${path}`, lines("", { expect: "100-continue" }));
    let isAsked = false;
    request.on("continue", () => {
      isAsked = true;
      request.end('{"name":"a"}\n');
    });
    request.flushHeaders();
    const [response] = await once(request, "response");
    expect([response.statusCode, isAsked]).toEqual([status, status === 200]);
    response.resume();
    request.destroy();
  }
});

test("messages arrive while the client still sends", async () => {
  const client = await http1Client(handlerWith());
  onTestFinished(() => client.close());
  const request = httpRequest(`${client.origin}/v1/collect/d`, lines(""));
  for (let count = 1; count <= 3; count++) {
    request.write('{"name":"a"}\n');
    await expect.poll(() => seen.collected).toBe(count);
  }
  request.end();
  const [response] = await once(request, "response");
  expect(response.statusCode).toBe(200);
  response.resume();
});

test("a client that goes away ends the call", async () => {
  const client = await http1Client(handlerWith());
  onTestFinished(() => client.close());
  const request = httpRequest(`${client.origin}/v1/collect/d`, lines(""));
  request.on("error", () => {});
  request.write('{"name":"a"}\n');
  await expect.poll(() => seen.collected).toBe(1);
  expect(seen.isCollecting).toBe(true);
  request.destroy();
  await expect.poll(() => seen.isCollecting).toBe(false);
});

test("with the types of fetch", async () => {
  const handler = createFetchHandler({ transport, services: [library], registry });
  const response = await fetch(`${await serveFetch(handler)}/v1/collect/d`, lines('{"name":"a"}\n{"name":"b"}'));
  expect(await response.json()).toEqual({ repos: ["a", "b"].map((name) => ({ name, description: "d" })) });
});
