import { once } from "node:events";
import { request } from "node:http";
import { connect as connect2 } from "node:http2";
import { text } from "node:stream/consumers";
import { createRegistry } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createClient,
  createContextKey,
  createContextValues,
  type Transport,
} from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../gen/grpc/health/v1/health_pb.ts";
import { PingService } from "../../../gen/platform/ping/v2/ping_pb.ts";
import { createLocalTransport } from "../../../src/call/local-transport.ts";
import { type ConnectHandler, createConnectHandler } from "../../../src/rpc/connect/adapter.ts";
import { type OpenPort, openPort } from "../../http/open-port.ts";

const pathKey = createContextKey("");
let port: OpenPort;
const failures: unknown[] = [];
let watchers = 0;

beforeAll(async () => {
  const local = createLocalTransport(
    [
      {
        service: PingService,
        methods: { ping: (_request, { requestHeader }) => ({ response: requestHeader.get("x-say") ?? "pong" }) },
      },
      {
        service: Health,
        methods: {
          async check({ service }: { service: string }, context) {
            context.responseHeader.set("x-header", "h");
            context.responseTrailer.set("x-trailer", "t");
            if (service === "denied") throw new ConnectError("denied", Code.PermissionDenied);
            if (service === "bug") throw new TypeError("secret");
            if (service === "slow") await new Promise(() => {});
            if (service === "values") return { status: context.values.get(pathKey).length };
            return { status: Status.SERVING };
          },
          async *watch({ service }: { service: string }, context) {
            watchers++;
            try {
              context.responseHeader.set("x-header", "h");
              for (let i = 0; i < (service === "silent" ? 0 : 3); i++) yield { status: i };
              if (service === "denied") throw new ConnectError("denied", Code.PermissionDenied);
              if (service === "endless") await once(context.signal, "abort");
              context.responseTrailer.set("x-trailer", "t");
            } finally {
              watchers--;
            }
          },
          list: () => ({ statuses: Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`service ${i}`, {}])) }),
        },
      },
    ],
    [],
  );
  const handler: ConnectHandler = createConnectHandler({
    transport: local,
    services: [PingService, Health],
    registry: createRegistry(),
    limits: { readMaxBytes: 4096, maxTimeoutMs: 5_000 },
    contextValues: ({ url }) => createContextValues().set(pathKey, url ?? ""),
    describeError(error, method) {
      if (error.findDetails(ErrorInfoSchema).length > 0) return;
      const value = { reason: Code[error.code], domain: method?.parent.typeName ?? "nowhere" };
      error.details.unshift({ desc: ErrorInfoSchema, value });
    },
    answerHeaders: () => ({}),
    refusalBody: (status) => JSON.stringify({ code: status }),
    onError: (error) => failures.push(error),
  });
  port = await openPort(false, {
    onRequest(request, response) {
      const path = request.url?.split("?")[0] ?? "";
      if (!handler(path, request, response)) response.end("not an RPC");
    },
  });
});

afterAll(() => port.port.close({ graceMs: 0 }));

const dialects: [string, (baseUrl: string) => Transport][] = [
  ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
  ["gRPC-Web over HTTP/2", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" })],
  ["gRPC-Web over HTTP/1.1", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ["Connect over HTTP/2", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" })],
  ["Connect over HTTP/1.1", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["Connect JSON", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false })],
  ["Connect GET", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true })],
];

describe.each(dialects)("%s", (_dialect, dial) => {
  const health = () => createClient(Health, dial(port.origin));
  const reasonOf = (error: unknown) => (error as ConnectError).findDetails(ErrorInfoSchema)[0];

  it("carries a call, its headers and its trailers", async () => {
    const seen: (string | null)[] = [];
    const answer = await health().check(
      {},
      {
        onHeader: (header) => seen.push(header.get("x-header")),
        onTrailer: (trailer) => seen.push(trailer.get("x-trailer")),
      },
    );
    expect(answer.status).toBe(Status.SERVING);
    expect(seen).toEqual(["h", "t"]);
    const ping = createClient(PingService, dial(port.origin));
    expect(await ping.ping({}, { headers: { "x-say": "hello" } })).toMatchObject({ response: "hello" });
  });

  it("starts with the values of the request", async () => {
    const answer = await health().check({ service: "values" });
    expect(answer.status).toBe("/grpc.health.v1.Health/Check".length);
  });

  it.each([
    ["of three messages", "", [0, 1, 2]],
    ["of none", "silent", []],
  ])("carries a server stream %s, its headers and its trailers", async (_what, service, expected) => {
    const statuses: number[] = [];
    const seen: (string | null)[] = [];
    const options = {
      onHeader: (header: Headers) => seen.push(header.get("x-header")),
      onTrailer: (trailer: Headers) => seen.push(trailer.get("x-trailer")),
    };
    for await (const { status } of health().watch({ service }, options)) statuses.push(status);
    expect(statuses).toEqual(expected);
    expect(seen).toEqual(["h", "t"]);
  });

  it.each([
    ["denied", "denied", Code.PermissionDenied],
    ["bug", "internal error", Code.Internal],
  ])("carries an error: %s", async (service, message, code) => {
    const error = await health()
      .check({ service })
      .catch((e) => e);
    expect(error).toMatchObject({ rawMessage: message, code });
  });

  it("carries an error at the end of a stream", async () => {
    const read = async () => {
      for await (const _ of health().watch({ service: "denied" }));
    };
    const error = await read().catch((e) => e);
    expect(error).toMatchObject({ code: Code.PermissionDenied });
    expect(reasonOf(error)).toMatchObject({ reason: "PermissionDenied", domain: "grpc.health.v1.Health" });
  });

  it("completes errors that the protocol layer makes: a message too large", async () => {
    const error = await health()
      .check({ service: "x".repeat(5000) })
      .catch((e) => e);
    expect(error).toMatchObject({ code: Code.ResourceExhausted });
    expect(reasonOf(error)).toMatchObject({ reason: "ResourceExhausted", domain: "grpc.health.v1.Health" });
  });

  it("ends a call with its deadline", async () => {
    const error = await health()
      .check({ service: "slow" }, { timeoutMs: 50 })
      .catch((e) => e);
    expect(error).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("serves a call whose time-out is beyond the cap", async () => {
    expect(await health().check({}, { timeoutMs: 90_000_000 })).toMatchObject({ status: Status.SERVING });
  });

  it("stops the handler when the client goes", async () => {
    await expect.poll(() => watchers).toBe(0);
    const controller = new AbortController();
    const read = async () => {
      for await (const { status } of health().watch({ service: "endless" }, { signal: controller.signal })) {
        if (status === 2) controller.abort();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: Code.Canceled });
    await expect.poll(() => watchers).toBe(0);
  });

  it("answers UNIMPLEMENTED for a method nobody serves", async () => {
    const method = { ...Health.method.check, name: "Nope" };
    const error = await dial(port.origin)
      .unary(method, undefined, undefined, undefined, {})
      .catch((e) => e);
    expect(error).toMatchObject({ code: Code.Unimplemented });
    expect(reasonOf(error)).toMatchObject({ reason: "Unimplemented", domain: "nowhere" });
  });
});

describe("compression", () => {
  it.each([compressionGzip, compressionBrotli])("is understood and spoken: $name", async (compression) => {
    const encodings: (string | null)[] = [];
    const transport = createConnectTransport({
      baseUrl: port.origin,
      httpVersion: "1.1",
      acceptCompression: [compression],
      sendCompression: compression,
      compressMinBytes: 0,
    });
    const answer = await createClient(Health, transport).list(
      {},
      { onHeader: (header) => encodings.push(header.get("content-encoding")) },
    );
    expect(Object.keys(answer.statuses)).toHaveLength(500);
    expect(encodings).toEqual([compression.name]);
  });
});

describe("requests that are not proper calls", () => {
  const check = "/grpc.health.v1.Health/Check";
  const json = { "content-type": "application/json" };

  it.each([
    ["a GET of a method with side effects", "GET", check, {}, 405, '{"code":405}'],
    ["a DELETE", "DELETE", check, {}, 405, '{"code":405}'],
    ["a foreign content type", "POST", check, { "content-type": "text/plain" }, 415, '{"code":415}'],
    ["no content type", "POST", check, {}, 415, '{"code":415}'],
    [
      "an unknown method, foreign content type",
      "POST",
      "/a.B/C",
      { "content-type": "text/plain" },
      404,
      '{"code":404}',
    ],
    ["an unknown method, Connect", "POST", "/a.B/C", json, 404, /^{"code":"unimplemented","message":".*a\.B\/C"/],
    ["an unusable host", "POST", check, { ...json, host: "a:99999" }, 400, '{"code":400}'],
    ["a GET of no RPC", "GET", "/a.B/C", {}, 200, "not an RPC"],
    ["another path", "POST", "/iam/v2/groups", json, 200, "not an RPC"],
    ["a dot file", "POST", "/.well-known/x", json, 200, "not an RPC"],
    ["malformed JSON", "POST", check, json, 400, /^{"code":"invalid_argument",.*google\.rpc\.ErrorInfo/],
    [
      "a malformed time-out",
      "POST",
      check,
      { ...json, "connect-timeout-ms": "soon" },
      400,
      /^{"code":"invalid_argument"/,
    ],
  ])("%s", async (_what, method, path, headers, status, body) => {
    const client = request(port.origin + path, { method, headers });
    client.end(method === "POST" ? "{" : undefined);
    const [response] = await once(client, "response");
    expect(response.statusCode).toBe(status);
    const answer = await text(response);
    if (typeof body === "string") expect(answer).toBe(body);
    else expect(answer).toMatch(body);
    if (status === 405) expect(response.headers.allow).toBe("POST");
    // Plain JSON is Connect's own error, whose code is a name.
    if (status !== 200)
      expect(response.headers["content-type"]).toBe(
        answer.includes('{"code":"') ? "application/json" : "application/json; charset=utf-8",
      );
  });

  it("answers gRPC for an unknown method in headers alone", async () => {
    const client = connect2(port.origin);
    const stream = client.request({ ":method": "POST", ":path": "/a.B/C", "content-type": "application/grpc+proto" });
    stream.end(Buffer.alloc(5));
    const [headers, flags] = await once(stream, "response");
    expect(headers).toMatchObject({ ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "12" });
    expect(headers["grpc-status-details-bin"]).toBeDefined();
    expect(flags & 1).toBe(1); // END_STREAM
    client.close();
  });

  it("reports clients that leave without crashing", async () => {
    const client = connect2(port.origin);
    const stream = client.request({ ":method": "POST", ":path": check, "content-type": "application/grpc" });
    stream.on("error", () => {});
    stream.write(Buffer.alloc(3));
    await new Promise((resolve) => setTimeout(resolve, 20));
    client.destroy();
    const ping = createClient(PingService, createGrpcTransport({ baseUrl: port.origin }));
    expect(await ping.ping({})).toMatchObject({ response: "pong" });
  });
});
