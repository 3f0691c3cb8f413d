import { once } from "node:events";
import {
  Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as request1,
} from "node:http";
import { connect } from "node:http2";
import { type Duplex, Writable } from "node:stream";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { HealthCheckRequestSchema } from "../../../gen/grpc/health/v1/health_pb.ts";
import type { OpenPort } from "../../http/open-port.ts";
import { openPorts, type Ports, checkPath as path, readMaxBytes } from "../handlers.ts";

let ports: Ports;
beforeAll(async () => {
  ports = await openPorts();
});
afterAll(() => ports.close());
beforeEach(() => ports.forget());

type Fields = Record<string, string>;

/** What a client receives, without the fields of either HTTP version. */
interface Outcome {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A request under way, over either version. */
interface Started {
  readonly body: Duplex | NodeJS.WritableStream;
  readonly outcome: Promise<Outcome>;
  /** Breaks off. */
  cancel(): void;
}

const buffered = "HTTP/1.1, buffered";
/** Versions whose requests are buffered. */
const bufferedVersions = [buffered, "HTTP/2"];

async function outcomeOf(response: IncomingMessage): Promise<Outcome> {
  const { date, connection, "keep-alive": _, "transfer-encoding": __, ...headers } = response.headers;
  const body = Buffer.concat(await response.toArray()).toString("latin1");
  return { status: response.statusCode as number, headers, body };
}

const versions: Record<string, (port: OpenPort, fields: Fields) => Started> = {
  /** All of a request at once, on a connection that stays. */
  [buffered]({ origin }, { verb = "POST", ...fields }) {
    const chunks: Buffer[] = [];
    const { promise: response, resolve } = Promise.withResolvers<IncomingMessage>();
    let request: ClientRequest | undefined;
    const body = new Writable({
      write(chunk, _encoding, done) {
        chunks.push(chunk);
        done();
      },
      final(done) {
        const bytes = Buffer.concat(chunks);
        const headers = { "content-length": bytes.length, ...fields, connection: "keep-alive" };
        request = request1(origin + path, { method: verb, headers, agent: false }, resolve).on("error", () => {});
        request.end(bytes);
        done();
      },
    });
    return { body, outcome: response.then(outcomeOf), cancel: () => request?.destroy() };
  },
  "HTTP/1.1"({ origin }, { verb = "POST", ...headers }) {
    const request = request1(origin + path, { method: verb, headers, agent: new Agent() });
    request.on("error", () => {});
    const outcome = once(request, "response").then(([response]) => outcomeOf(response));
    return { body: request, outcome, cancel: () => request.destroy() };
  },
  "HTTP/2"({ origin }, { verb = "POST", ...headers }) {
    const session = connect(origin).on("error", () => {});
    const stream = session.request({ ":method": verb, ":path": path, ...headers });
    stream.on("error", () => {}).once("close", () => session.close());
    const outcome = async () => {
      const [{ ":status": status, date, ...rest }] = await once(stream, "response");
      return { status, headers: { ...rest }, body: Buffer.concat(await stream.toArray()).toString("latin1") };
    };
    return { body: stream, outcome: outcome(), cancel: () => stream.close(8) };
  },
};

const json = { "content-type": "application/json" };
const proto = { "content-type": "application/proto" };
const ask = (service: string) => Buffer.from(JSON.stringify({ service }));
const askBinary = (service: string) =>
  Buffer.from(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })));

describe.each(Object.entries(versions))("over %s", (version, start) => {
  async function call(port: OpenPort, chunks: readonly Buffer[], fields: Fields): Promise<Outcome> {
    const { body, outcome } = start(port, fields);
    outcome.catch(() => {});
    for (const chunk of chunks) {
      body.write(chunk);
      await new Promise(setImmediate);
    }
    body.end();
    return outcome;
  }

  /** The outcome as a client of Connect understands it. */
  function understood({ status, headers: { vary, "content-length": _, ...headers }, body }: Outcome) {
    return { status, headers, body: headers["content-type"] === "application/json" ? JSON.parse(body) : body };
  }

  describe("the same call on the fast path and by Connect's handlers", () => {
    it.each<[what: string, chunks: Buffer[], fields: Fields, status: number, fallsBack: boolean]>([
      ["JSON", [ask("a")], json, 200, false],
      ["JSON, its charset said", [ask("a")], { "content-type": "application/json; charset=utf-8" }, 200, false],
      ["binary", [askBinary("a")], proto, 200, false],
      ["binary, empty", [], proto, 200, false],
      ["a byte a chunk", [...ask("a")].map((byte) => Buffer.of(byte)), json, 200, false],
      ["identity, said so", [ask("a")], { ...json, "content-encoding": "identity" }, 200, false],
      ["an unknown field", [Buffer.from('{"service":"a","x":1}')], json, 200, false],
      ["headers and trailers", [ask("headers")], { ...json, "x-say": "hello" }, 200, false],
      ["an interceptor's answer", [ask("remembered")], json, 200, false],
      ["an error", [ask("denied")], json, 403, false],
      ["an error, of a binary call", [askBinary("denied")], proto, 403, false],
      ["an error after headers", [ask("denied headers")], json, 403, false],
      ["a time-out that is 0", [ask("slow")], { ...json, "connect-timeout-ms": "0" }, 504, false],
      ["a time-out", [ask("slow")], { ...json, "connect-timeout-ms": "50" }, 504, false],
      ["a time-out beyond the cap", [ask("a")], { ...json, "connect-timeout-ms": "9999999999" }, 200, false],
      ["no JSON", [Buffer.from("{")], json, 400, false],
      ["no body", [], json, 400, false],
      ["bytes after the JSON", [ask("a"), Buffer.from("x")], json, 400, false],
      ["JSON of another type", [Buffer.from('{"service":1}')], json, 400, false],
      ["no protobuf", [Buffer.of(0x0a, 9)], proto, 400, false],
      ["no UTF-8", [Buffer.of(0x0a, 1, 0xff)], proto, 400, false],
      ["a message over the limit", [askBinary("x".repeat(readMaxBytes))], proto, 429, true],
    ])("%s", async (_what, chunks, fields, status, fallsBack) => {
      const byFastPath = await call(ports.fast, chunks, fields);
      const isKnownTooLong = version === buffered && Buffer.concat(chunks).length > readMaxBytes;
      expect(ports.fallBacks).toEqual(fallsBack ? [{ path, isBegun: !isKnownTooLong }] : []);
      const isBuffered = bufferedVersions.includes(version) || chunks.length === 0; // nothing is sent in chunks
      expect(ports.buffered).toEqual(isBuffered && !fallsBack ? [path] : []);
      const byConnect = await call(ports.standard, chunks, fields);
      expect(understood(byFastPath)).toEqual(understood(byConnect));
      expect(byFastPath.status).toBe(status);
      expect(ports.errors).toEqual([]);
    });

    it.each<[what: string, fields: Fields]>([
      ["GET", { verb: "GET", ...json }],
      ["a stream", { "content-type": "application/connect+json" }],
      ["another charset", { "content-type": "application/json; charset=latin1" }],
      ["compression", { ...json, "content-encoding": "gzip" }],
      ["a malformed time-out", { ...json, "connect-timeout-ms": "soon" }],
      ["a time-out of eleven digits", { ...json, "connect-timeout-ms": "10000000000" }],
      ["a length over the limit", { ...json, "content-length": String(readMaxBytes + 1) }],
    ])("falls back unread: %s", async (_what, fields) => {
      const chunks = fields.verb === "GET" ? [] : [Buffer.alloc(Number(fields["content-length"] ?? 5), " ")];
      const outcomes = [await call(ports.fast, chunks, fields), await call(ports.standard, chunks, fields)];
      expect(ports.fallBacks.map(({ isBegun }) => isBegun)).toEqual([false, false]);
      expect(outcomes[0]).toEqual(outcomes[1]);
    });
  });

  it("carries what a handler sets, with an error too", async () => {
    const { headers, body } = await call(ports.fast, [ask("denied headers")], {
      ...json,
      "x-say": "hello",
      "x-more": "1",
    });
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "x-header": "hello",
      "set-cookie": ["a=1", "b=2"],
      "trailer-x-trailer": "x-say,x-more",
      "x-error": "e",
    });
    expect(JSON.parse(Buffer.from(body, "latin1").toString())).toMatchObject({
      code: "permission_denied",
      message: "100 % denied: ü",
      details: [{ type: "google.rpc.ErrorInfo", debug: { reason: "DENIED" } }],
    });
  });

  it.each([
    ["a handler's bug", "bug"],
    ["an answer that cannot be written", "unwritable"],
  ])("answers INTERNAL for %s, and reports the error", async (_what, service) => {
    const { status, body } = await call(ports.fast, [askBinary(service)], proto);
    expect({ status, ...JSON.parse(body) }).toEqual({ status: 500, code: "internal", message: "Internal error" });
    expect(ports.errors).toHaveLength(1);
  });

  it("refuses to send more than the limit", async () => {
    const { status, body } = await call(ports.fast, [askBinary("long")], proto);
    expect({ status, ...JSON.parse(body) }).toMatchObject({ status: 429, code: "resource_exhausted" });
  });

  it("stops the call of a client that goes", async () => {
    const { body, outcome, cancel } = start(ports.fast, json);
    outcome.catch(() => {});
    body.end(ask("slow"));
    await expect.poll(() => ports.begun).toEqual(["slow"]);
    cancel();
    await expect.poll(() => ports.stopped).toMatchObject([{ code: Code.Canceled }]);
    expect(ports.errors).toEqual([]);
  });

  // A buffered request has its header fields and its last byte at once.
  if (version !== buffered)
    it("counts a time-out from the request's headers, not from its last byte", async () => {
      const { body, outcome } = start(ports.fast, { ...json, "connect-timeout-ms": "40" });
      body.write(ask("a").subarray(0, 5));
      await new Promise((resolve) => setTimeout(resolve, 80));
      body.end(ask("a").subarray(5));
      expect((await outcome).status).toBe(504);
      expect(ports.begun).toEqual([]);
    });
});

it.each([
  ["an empty binary message", "application/proto", 200],
  ["no JSON", "application/json", 400],
])("a request of HTTP/1.1 that says nothing of a body has %s", async (_what, contentType, status) => {
  const head = [`POST ${path} HTTP/1.1`, "host: x", `content-type: ${contentType}`, "connection: close", "", ""];
  for (const port of [ports.fast, ports.standard]) {
    const { socket, closed } = await port.dial();
    socket.write(head.join("\r\n"));
    expect(await closed).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  }
  expect(ports.errors).toEqual([]);
});
