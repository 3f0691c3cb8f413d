/** The handler as a function of the Fetch standard, through a port. */
import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { createFetchHandler, type RestOptions } from "../../../src/rest/index.ts";
import { type Any, library, registry } from "../fixture.ts";
import { seen, transport } from "../service.ts";
import { serveFetch } from "./fetch-server.ts";

const handlerWith = (options: Partial<RestOptions> = {}) =>
  createFetchHandler({ transport, services: [library], registry, ...options });
const post = (body: string | Uint8Array, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: body as string,
});

test("a message with its headers and its length", async () => {
  const origin = await serveFetch(handlerWith());
  const response = await fetch(`${origin}/v1/repos/a%2Fb?`);
  expect([response.status, await response.json()]).toEqual([200, { uid: "a%2Fb" }]);
  expect(response.headers.get("content-length")).toBe(String('{"uid":"a%2Fb"}'.length));
  expect([response.headers.get("etag"), response.headers.get("x-many")]).toEqual(['"1"', "a, b"]);
});

test("query, and a body", async () => {
  const origin = await serveFetch(handlerWith());
  await fetch(`${origin}/v1/repos?page_size=2&uidp.ids=1`);
  expect(seen.message).toMatchObject({ pageSize: 2, uidp: { ids: ["1"] } });
  const created = await fetch(`${origin}/v1/repos/g`, post('{"name":"n"}'));
  expect(await created.json()).toEqual({ uid: "g/new", name: "n" });
});

test("a body of unknown length, and a compressed one", async () => {
  const origin = await serveFetch(handlerWith());
  const body = new ReadableStream({
    start(controller) {
      for (const piece of ['{"na', 'me":"n"}']) controller.enqueue(new TextEncoder().encode(piece));
      controller.close();
    },
  });
  const streamed = await fetch(`${origin}/v1/repos/g`, { ...post(""), body, duplex: "half" } as RequestInit);
  expect(await streamed.json()).toEqual({ uid: "g/new", name: "n" });
  const coded = await fetch(`${origin}/v1/repos/g`, post(gzipSync('{"name":"z"}'), { "content-encoding": "gzip" }));
  expect(await coded.json()).toEqual({ uid: "g/new", name: "z" });
});

test("errors, a body that is too large among them", async () => {
  const origin = await serveFetch(handlerWith({ limits: { maxBodyBytes: 10 } }));
  expect((await fetch(`${origin}/v1/images/5`)).status).toBe(404);
  expect((await fetch(`${origin}/nope`)).status).toBe(404);
  expect((await fetch(`${origin}/v1/repos`, { method: "PUT" })).headers.get("allow")).toBe("GET, HEAD, POST");
  expect((await fetch(`${origin}/v1/repos/g`, post('{"name":"too long"}'))).status).toBe(413);
  expect((await fetch(`${origin}/v1/repos/g`, post("{]"))).status).toBe(400);
});

test("HEAD, 304 and an empty answer have no body", async () => {
  const origin = await serveFetch(handlerWith({ emptyAnswer: "nothing" }));
  const head = await fetch(`${origin}/v1/repos/a`, { method: "HEAD" });
  expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([200, "", '"1"']);
  const unmodified = await fetch(`${origin}/v1/repos/a`, { headers: { "if-none-match": '"1"' } });
  expect([unmodified.status, await unmodified.text()]).toEqual([304, ""]);
  const deleted = await fetch(`${origin}/v1/repos/a`, { method: "DELETE" });
  expect([deleted.status, await deleted.text()]).toEqual([200, ""]);
});

test("answers are not compressed", async () => {
  const origin = await serveFetch(handlerWith());
  const response = await fetch(`${origin}/v1/repos?page_size=100`, { headers: { "accept-encoding": "gzip" } });
  expect([response.status, response.headers.get("content-encoding")]).toEqual([200, null]);
});

test("a HttpBody", async () => {
  const origin = await serveFetch(handlerWith());
  const response = await fetch(`${origin}/v1/files/a`);
  expect([response.headers.get("content-type"), (await response.text()).length]).toEqual(["text/markdown", 5000]);
});

test("streams, in each form", async () => {
  const origin = await serveFetch(handlerWith());
  const stream = async (accept: string, query = "count=2") =>
    (await fetch(`${origin}/v1/watch?${query}`, { headers: { accept } })).text();
  expect(await stream("application/json")).toBe('[{"name":"0"},{"name":"1"}]');
  expect(await stream("application/json", "")).toBe("[]");
  expect(await stream("application/x-ndjson")).toBe('{"name":"0"}\n{"name":"1"}\n');
  expect(await stream("text/event-stream")).toBe(
    'retry: 3000\n\nid: 1\ndata: {"name":"0"}\n\nid: 2\ndata: {"name":"1"}\n\nid: end\nevent: end\ndata: {}\n\n',
  );
  expect(await stream("application/json", "count=2&fail_after=2")).toContain('{"error":{"code":14');
  expect((await fetch(`${origin}/v1/watch?count=1&fail_after=1`)).status).toBe(503);
});

test("a stream is read no further than its client", async () => {
  const response = await handlerWith()(new Request("http://localhost/v1/watch?count=100000"));
  const reader = response.body!.getReader();
  await reader.read();
  const { inWatch } = seen;
  expect(inWatch).toBeLessThan(10);
  for (let i = 0; i < 5; i++) await reader.read();
  expect(seen.inWatch).toBeLessThan(inWatch + 10);
  await reader.cancel();
});

test("a HttpBody stream that fails delivers what came before", async () => {
  const origin = await serveFetch(handlerWith());
  const response = await fetch(`${origin}/v1/watch/raw?count=3&fail_after=2`);
  const reader = response.body!.getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("0;");
  await expect(reader.read()).rejects.toThrow();
});

test("a call is aborted with its request", async () => {
  const errors: unknown[] = [];
  const origin = await serveFetch(handlerWith(), (error) => errors.push(error));
  const signalOfCall = new Promise<AbortSignal>((resolve) => {
    seen.onUndelete = resolve;
  });
  const client = new AbortController();
  const response = fetch(`${origin}/v1/images/1:undelete`, { method: "POST", signal: client.signal });
  const signal = await signalOfCall;
  const aborted = once(signal, "abort");
  client.abort();
  await expect(response).rejects.toThrow();
  await aborted;
  await expect.poll(() => errors.length).toBe(1);
});

test("next answers what no method has", async () => {
  const next = ({ url }: Request) => new Response(new URL(url).pathname, { status: 202 });
  const origin = await serveFetch(createFetchHandler({ transport, services: [library], registry }, next));
  const response = await fetch(`${origin}/nope`);
  expect([response.status, await response.text()]).toEqual([202, "/nope"]);
  expect((await fetch(`${origin}/v1/repos/a`)).status).toBe(200);
});

test("an error that next throws rejects", async () => {
  const next = () => {
    throw new Error("own");
  };
  const handler = createFetchHandler({ transport, services: [library], registry }, next);
  await expect(handler(new Request("http://localhost/own"))).rejects.toThrow("own");
});

test("a header field that cannot be sent is an error", async () => {
  const rewriteAnswer: RestOptions["rewriteAnswer"] = (answer) => ({ ...answer, headers: { "a b": "1" } });
  const response = await fetch(`${await serveFetch(handlerWith({ rewriteAnswer }))}/v1/repos/a`);
  expect([response.status, ((await response.json()) as Any).code]).toEqual([500, 13]);
});

test("rewriteAnswer to 204 sends no content", async () => {
  const rewriteAnswer: RestOptions["rewriteAnswer"] = (answer) => ({ ...answer, httpStatus: 204 });
  const response = await fetch(`${await serveFetch(handlerWith({ rewriteAnswer }))}/v1/repos/a`);
  expect([response.status, await response.text()]).toEqual([204, ""]);
});

test("a fragment is not part of the path", async () => {
  const response = await handlerWith()(new Request("http://localhost/v1/repos/a?#fragment"));
  expect(await response.json()).toEqual({ uid: "a" });
});

test("further arguments of a host are ignored", async () => {
  const handler = handlerWith() as (...args: unknown[]) => Promise<Response>;
  expect((await handler(new Request("http://localhost/nope"), { completed: Promise.resolve() })).status).toBe(404);
});

test("a body that fails is not a message, and harms nothing else", async () => {
  seen.message = undefined;
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"name":'));
    },
    pull(controller) {
      controller.error(new Error("gone"));
    },
  });
  const request = new Request("http://localhost/v1/repos/g", { ...post(""), body, duplex: "half" } as RequestInit);
  const response = await handlerWith()(request);
  expect([response.status, ((await response.json()) as Any).code]).toEqual([499, 1]);
  expect(seen.message).toBeUndefined();
});

test("a body that nobody needs is not read", async () => {
  let isRead = false;
  const body = new ReadableStream(
    {
      pull() {
        isRead = true;
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request("http://localhost/nope", { method: "POST", body, duplex: "half" } as RequestInit);
  expect((await handlerWith()(request)).status).toBe(404);
  expect(isRead).toBe(false);
});

test("a request that is aborted before it comes is not answered", async () => {
  const request = new Request("http://localhost/v1/repos/a", { signal: AbortSignal.abort() });
  await expect(handlerWith()(request)).rejects.toThrow("broken off");
});
