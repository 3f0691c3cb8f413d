/** Streams as server-sent events, up to a client that asks again by itself. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { createRestHandler, fromRouter, type RestOptions } from "../../../src/rest/index.ts";
import { fastPathClient, http1Client, http2Client } from "../../http/clients.ts";
import { type Any, library } from "../fixture.ts";

const accept = "text/event-stream";

/** What a service does for a call; it gets the header field `last-event-id`. */
type Watch = (lastEventId: string | null, request: Any) => AsyncIterable<{ name: string }>;

function handlerOf(watch: Watch, options: Partial<RestOptions>) {
  const routes = fromRouter(({ service }) =>
    service(library, {
      watch: (request: Any, { requestHeader, responseHeader }: Any) => {
        responseHeader.set("x-own", "1");
        return watch(requestHeader.get("last-event-id"), request);
      },
    } as Any),
  );
  return createRestHandler({ ...routes, ...options });
}

async function clientOf(watch: Watch, options: Partial<RestOptions> = {}, createClient = http1Client) {
  const client = await createClient(handlerOf(watch, options));
  onTestFinished(() => client.close());
  return client;
}

async function* counted(_: unknown, { count, failAfter }: { count: number; failAfter: number }) {
  for (let i = 0; i < count; i++) {
    if (i + 1 === failAfter) throw new ConnectError("Unavailable: gone", Code.Unavailable);
    yield { name: `${i}` };
  }
}

const event = (id: string, name: string) => `id: ${id}\ndata: {"name":"${name}"}\n\n`;
const end = "id: end\nevent: end\ndata: {}\n\n";

describe.each([
  ["HTTP/1.1", http1Client],
  ["HTTP/2", http2Client],
  ["HTTP/2, fast path", fastPathClient],
] as const)("over %s", (_, createClient) => {
  test("have ids, the time to ask again, and an end", async () => {
    const { call } = await clientOf(counted, {}, createClient);
    const answer = await call("/v1/watch?count=2", { headers: { accept } });
    expect(answer.headers).toMatchObject({ "content-type": accept, "x-own": "1" });
    expect(answer.text).toBe(`retry: 3000\n\n${event("1", "0")}${event("2", "1")}${end}`);
    expect((await call("/v1/watch", { headers: { accept } })).text).toBe(`retry: 3000\n\n${end}`);
  });

  test("have an error as their end", async () => {
    const { call } = await clientOf(counted, { events: { retryMs: 7 } }, createClient);
    const { text } = await call("/v1/watch?count=3&fail_after=2", { headers: { accept } });
    const error = '{"code":14,"message":"Unavailable: gone","details":[]}';
    expect(text).toBe(`retry: 7\n\n${event("1", "0")}id: end\nevent: error\ndata: ${error}\n\n`);
    const first = await call("/v1/watch?count=3&fail_after=1", { headers: { accept } });
    expect([first.status, first.json]).toEqual([503, JSON.parse(error)]);
  });

  test("are not begun again after their end", async () => {
    let calls = 0;
    const watch: Watch = (...given) => {
      calls++;
      return counted(...(given as [unknown, Any]));
    };
    const answerHeaders = () => ({ "x-request-id": "r" });
    const { call } = await clientOf(watch, { answerHeaders, cors: { origins: ["*"] } }, createClient);
    const headers = { accept, "last-event-id": "end", origin: "https://a.example" };
    const { status, text, headers: answered } = await call("/v1/watch?count=2", { headers });
    expect([status, text, calls]).toEqual([204, "", 0]);
    expect(answered).toMatchObject({ "x-request-id": "r", "access-control-allow-origin": "https://a.example" });
    for (const other of [{ "last-event-id": "end" }, { accept, "last-event-id": "1" }, { accept }])
      expect((await call("/v1/watch?count=2", { headers: other as Any })).status).toBe(200);
    expect(calls).toBe(3);
  });

  test("have the ids of the service, which goes on behind the last one", async () => {
    async function* watch(last: string | null) {
      for (const name of ["a", "b", "c"]) if (last === null || name > last) yield { name };
    }
    const id = (message: Any) => (message.name === "b" ? undefined : message.name);
    const { call } = await clientOf(watch, { events: { id } }, createClient);
    const { text } = await call("/v1/watch", { headers: { accept } });
    expect(text).toContain(`${event("a", "a")}data: {"name":"b"}\n\n${event("c", "c")}`);
    const rest = await call("/v1/watch", { headers: { accept, "last-event-id": "b" } });
    expect(rest.text).toBe(`retry: 3000\n\n${event("c", "c")}${end}`);
  });

  test.each(["end", "", "a b", "a\nb", "é", "\0"])("refuse the id %j", async (id) => {
    const { call } = await clientOf(counted, { events: { id: ({ name }: Any) => (name === "0" ? "x" : id) } });
    const { text } = await call("/v1/watch?count=2", { headers: { accept } });
    expect(text).toContain(`${event("x", "0")}id: end\nevent: error\ndata: {"code":13,`);
  });
});

describe("a comment is sent when no message comes", () => {
  /** A stream that waits where it is told, until it is let go. */
  async function quiet(waitsAfter: number, finish: () => void) {
    const gate = Promise.withResolvers<void>();
    async function* watch() {
      for (let i = 0; i < 2; i++) {
        if (i === waitsAfter) await gate.promise;
        if (i === waitsAfter) finish();
        yield { name: `${i}` };
      }
    }
    const { origin } = await clientOf(watch, { events: { keepAliveMs: 1 } });
    const response = await fetch(`${origin}/v1/watch?count=2`, { headers: { accept } });
    let received = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      received += chunk;
      if (received.split(":\n\n").length > 2) gate.resolve();
    }
    return { response, received: received.replaceAll(/(?<=\n):\n\n/g, "") };
  }

  test("between messages", async () => {
    const { response, received } = await quiet(1, () => {});
    expect(received).toBe(`retry: 3000\n\n${event("1", "0")}${event("2", "1")}${end}`);
    expect(response.headers.get("x-own")).toBe("1");
  });

  test("before the first, without the header of the call", async () => {
    const { response, received } = await quiet(0, () => {});
    expect(received).toBe(`retry: 3000\n\n${event("1", "0")}${event("2", "1")}${end}`);
    expect([response.status, response.headers.get("x-own")]).toEqual([200, null]);
  });

  test("after which an error is an event", async () => {
    const { received } = await quiet(0, () => {
      throw new ConnectError("Not found: it", Code.NotFound);
    });
    expect(received).toMatch(/^retry: 3000\n\nid: end\nevent: error\ndata: \{"code":5,/);
  });

  test("and the call ends when the client leaves", async () => {
    const left = Promise.withResolvers<void>();
    const routes = fromRouter(({ service }) =>
      service(library, {
        async *watch(_: Any, { signal }: Any) {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          left.resolve();
        },
      } as Any),
    );
    const client = await http1Client(createRestHandler({ ...routes, events: { keepAliveMs: 1 } }));
    onTestFinished(() => client.close());
    const response = await fetch(`${client.origin}/v1/watch`, { headers: { accept } });
    await response.body!.cancel();
    await left.promise;
  });

  test("to nobody who takes lines", async () => {
    async function* watch() {
      await new Promise((resolve) => setTimeout(resolve, 30));
      yield { name: "a" };
    }
    const { call } = await clientOf(watch, { events: { keepAliveMs: 1 } });
    const { text } = await call("/v1/watch", { headers: { accept: "application/x-ndjson" } });
    expect(text).toBe('{"name":"a"}\n');
  });
});

describe("an EventSource, which asks again by itself,", () => {
  /** Prints what comes, and ends when nothing more will. */
  const program = `
    const source = new EventSource(process.argv[1]);
    const print = ({ type, data, lastEventId }) => console.log(type, data, lastEventId);
    source.onmessage = print;
    source.addEventListener("end", print);
    source.onerror = (event) => {
      if (event.data !== undefined) print(event);
      if (source.readyState !== EventSource.CLOSED) return;
      console.log("closed");
      clearInterval(alive);
    };
    const alive = setInterval(() => {}, 1000);`; // the timer until it asks again does not keep a process

  test.each<[string, string, string[], (string | null)[]]>([
    ["gets a stream once", "count=2", ["message 0 1", "message 1 2", "end {} end", "closed"], [null]],
    ["does not repeat what failed", "count=2&fail_after=2", ["message 0 1", "error 14 end", "closed"], [null]],
    [
      "gets a stream that broke off anew, with the id of its last event",
      "count=3",
      ["message 0 1", "message 0 1", "message 1 2", "message 2 3", "end {} end", "closed"],
      [null, "1"],
    ],
  ])("%s", async (_, query, expected, ids) => {
    const asked: (string | null)[] = [];
    const server = createServer();
    async function* watch(last: string | null, request: Any) {
      asked.push(last);
      for await (const repo of counted(last, request)) {
        yield repo;
        if (request.count !== 3 || asked.length > 1) continue;
        await setImmediate(); // the message is sent
        server.closeAllConnections();
      }
    }
    const handler = handlerOf(watch, { events: { retryMs: 1 } });
    server.on("request", (request, response) => void handler(request, response));
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/watch?${query}`;
    const child = spawn(process.execPath, ["--experimental-eventsource", "-e", program, url]);
    const lines = (await text(child.stdout)).trim().split("\n");
    expect(lines.map((line) => line.replace(/\{"name":"(.)"\}/, "$1").replace(/\{"code":(\d+).*\}/, "$1"))).toEqual(
      expected,
    );
    expect(asked).toEqual(ids);
  });
});
