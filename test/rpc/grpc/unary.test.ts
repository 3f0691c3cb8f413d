import { once } from "node:events";
import { type ClientHttp2Stream, connect, constants, type IncomingHttpHeaders } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  HealthCheckRequestSchema,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import type { OpenPort } from "../../http/open-port.ts";
import { openPorts, type Ports, checkPath as path, readMaxBytes } from "../handlers.ts";

let ports: Ports;
beforeAll(async () => {
  ports = await openPorts();
});
afterAll(() => ports.close());
beforeEach(() => ports.forget());

/** A length-prefixed message of the request. */
function frame(service: string, flags = 0): Buffer {
  return prefixed(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })), flags);
}

function prefixed(bytes: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** What a client receives. */
interface Outcome {
  readonly header: IncomingHttpHeaders;
  readonly trailer: IncomingHttpHeaders;
  readonly body: Buffer;
}

function start({ origin }: OpenPort, headers: Record<string, string> = {}) {
  const session = connect(origin).on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  stream.on("error", () => {}).once("close", () => session.close());
  return stream;
}

async function outcomeOf(stream: ClientHttp2Stream): Promise<Outcome> {
  let header: IncomingHttpHeaders = {};
  let trailer: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  stream.on("response", (fields) => {
    header = fields;
  });
  stream.on("trailers", (fields) => {
    trailer = fields;
  });
  stream.on("data", (chunk) => chunks.push(chunk));
  await once(stream, "close");
  return { header, trailer, body: Buffer.concat(chunks) };
}

/** Sends the chunks, each in a DATA frame of its own. */
async function call(port: OpenPort, chunks: readonly Buffer[], headers: Record<string, string> = {}) {
  const stream = start(port, headers);
  const outcome = outcomeOf(stream);
  for (const chunk of chunks) {
    stream.write(chunk);
    await new Promise(setImmediate);
  }
  stream.end();
  return outcome;
}

/** The outcome as a client of gRPC understands it, where Trailers-Only and an empty body come to the same. */
function understood({ header, trailer, body }: Outcome) {
  const { date, "content-type": contentType, ...fields } = { ...header, ...trailer };
  const message = fields["grpc-status"] === "0" ? fromBinary(HealthCheckResponseSchema, body.subarray(5)) : undefined;
  return { fields, message, isGrpc: contentType?.startsWith("application/grpc") };
}

describe("the same call on the fast path and by Connect's handlers", () => {
  const large = frame("x".repeat(readMaxBytes));
  it.each<[what: string, chunks: Buffer[], headers: Record<string, string>, status: number, fallsBack: boolean]>([
    ["one DATA frame", [frame("a")], {}, 0, false],
    ["+proto", [frame("a")], { "content-type": "application/grpc+proto" }, 0, false],
    ["a split prefix", [frame("a").subarray(0, 3), frame("a").subarray(3)], {}, 0, false],
    ["a byte a frame", [...frame("abc")].map((byte) => Buffer.of(byte)), {}, 0, false],
    ["an empty message", [prefixed(Buffer.alloc(0))], {}, 0, false],
    ["identity, said so", [frame("a")], { "grpc-encoding": "identity" }, 0, false],
    ["headers and trailers", [frame("headers")], { "x-say": "hello" }, 0, false],
    ["an interceptor's answer", [frame("remembered")], {}, 0, false],
    ["an error", [frame("denied")], {}, 7, false],
    ["an error after headers", [frame("denied headers")], {}, 7, false],
    ["a time-out that is 0", [frame("slow")], { "grpc-timeout": "0m" }, 4, false],
    ["a time-out", [frame("slow")], { "grpc-timeout": "50m" }, 4, false],
    ["nanoseconds", [frame("slow")], { "grpc-timeout": "99999999n" }, 4, false],
    ["a time-out beyond the cap", [frame("a")], { "grpc-timeout": "99999999H" }, 0, false],
    ["nothing", [], {}, 12, true],
    ["two messages", [frame("a"), frame("b")], {}, 12, true],
    ["a prefix cut off", [frame("a").subarray(0, 4)], {}, 3, true],
    ["a message cut off", [frame("abc").subarray(0, 6)], {}, 3, true],
    ["bytes after the message", [frame("a"), Buffer.of(0)], {}, 3, true],
    ["a compressed message", [frame("a", 1)], {}, 13, true],
    ["an unknown flag", [frame("a", 2)], {}, 0, true],
    ["no protobuf", [prefixed(Buffer.of(0x0a, 9))], {}, 3, false],
    ["no UTF-8", [prefixed(Buffer.of(0x0a, 1, 0xff))], {}, 3, false],
    ["a message over the limit", [large], {}, 8, true],
    ["a second message over the limit", [frame("a"), large], {}, 8, true],
  ])("%s", async (_what, chunks, headers, status, fallsBack) => {
    const byFastPath = await call(ports.fast, chunks, headers);
    expect(ports.fallBacks).toEqual(fallsBack ? [{ path, isBegun: false }] : []);
    const byConnect = await call(ports.standard, chunks, headers);
    expect(understood(byFastPath)).toEqual(understood(byConnect));
    expect(understood(byFastPath).fields["grpc-status"]).toBe(String(status));
    expect(ports.errors).toEqual([]);
  });

  it("carries what a handler sets, with an error too", async () => {
    const { header, trailer } = await call(ports.fast, [frame("denied headers")], { "x-say": "hello", "x-more": "1" });
    expect(header).toMatchObject({ "x-header": "hello", "set-cookie": ["a=1", "b=2"] });
    expect(trailer).toMatchObject({
      "x-trailer": "x-say,x-more",
      "x-error": "e",
      "grpc-status": "7",
      "grpc-message": "100 %25 denied: %C3%BC",
    });
  });
});

describe("what falls back unread", () => {
  it.each<[what: string, headers: Record<string, string>]>([
    ["JSON", { "content-type": "application/grpc+json" }],
    ["gRPC-Web", { "content-type": "application/grpc-web" }],
    ["compression", { "grpc-encoding": "gzip" }],
    ["a malformed time-out", { "grpc-timeout": "1" }],
    ["a time-out of nine digits", { "grpc-timeout": "100000000m" }],
    ["a negative time-out", { "grpc-timeout": "-1m" }],
    ["another method", { ":path": "/grpc.health.v1.Health/Watch" }],
    ["another verb", { ":method": "PUT" }],
  ])("%s", async (_what, headers) => {
    const outcomes = [await call(ports.fast, [frame("a")], headers), await call(ports.standard, [frame("a")], headers)];
    expect(ports.fallBacks.map(({ isBegun }) => isBegun)).toEqual([false, false]);
    const [byFastPath, byConnect] = outcomes.map(({ header: { date, ...header }, ...rest }) => ({ header, ...rest }));
    expect(byFastPath).toEqual(byConnect);
  });
});

describe("failures of our own", () => {
  it.each([
    ["a handler's bug", "bug"],
    ["an answer that cannot be written", "unwritable"],
  ])("%s: INTERNAL, and the error is reported", async (_what, service) => {
    const { header } = await call(ports.fast, [frame(service)]);
    expect(header).toMatchObject({ "grpc-status": "13", "grpc-message": "Internal error" });
    expect(ports.errors).toHaveLength(1);
  });

  it("a header that cannot be sent ends the stream, not the process", async () => {
    const stream = start(ports.fast);
    const closed = new Promise((resolve) => stream.once("close", resolve));
    stream.end(frame("unsendable"));
    await closed;
    expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
    expect(ports.errors.length).toBeGreaterThan(0);
    expect(understood(await call(ports.fast, [frame("a")])).message).toMatchObject({ status: Status.SERVING });
  });
});

it("refuses to send more than the limit", async () => {
  expect((await call(ports.fast, [frame("long")])).header["grpc-status"]).toBe("8");
});

describe("a client that goes", () => {
  it("stops its call", async () => {
    const stream = start(ports.fast);
    stream.end(frame("slow"));
    await expect.poll(() => ports.begun).toEqual(["slow"]);
    stream.close(constants.NGHTTP2_CANCEL);
    await expect.poll(() => ports.stopped).toMatchObject([{ code: Code.Canceled }]);
    expect(ports.errors).toEqual([]);
  });

  it("with its connection, before the end of its request: the call is not begun, though its message is complete", async () => {
    const stream = start(ports.fast);
    stream.write(frame("lost"));
    await new Promise((resolve) => setTimeout(resolve, 20));
    stream.session?.destroy();
    await once(stream, "close");
    await call(ports.fast, [frame("after")]);
    expect(ports.begun).toEqual(["after"]);
    expect(ports.fallBacks).toEqual([]);
  });
});

it("counts a time-out from the request's headers, not from its last byte", async () => {
  const stream = start(ports.fast, { "grpc-timeout": "40m" });
  const outcome = outcomeOf(stream);
  stream.write(frame("a").subarray(0, 5));
  await new Promise((resolve) => setTimeout(resolve, 80));
  stream.end(frame("a").subarray(5));
  expect((await outcome).header["grpc-status"]).toBe("4");
  expect(ports.begun).toEqual([]);
});

it("answers for a message over the limit while the client still sends it, and lets go of the stream", async () => {
  for (const port of [ports.fast, ports.standard]) {
    const stream = start(port);
    const outcome = outcomeOf(stream);
    stream.write(prefixed(Buffer.alloc(300_000)).subarray(0, 299_000));
    expect((await outcome).trailer["grpc-status"]).toBe("8"); // closed, though this side has not ended
  }
});
