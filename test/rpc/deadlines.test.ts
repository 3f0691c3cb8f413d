/**
 * Deadlines count from the first byte of a request and are checked again before the answer is sent, in every protocol,
 * with and without the fast path.
 */

import { once } from "node:events";
import { request as request1 } from "node:http";
import { connect as connect2 } from "node:http2";
import { text } from "node:stream/consumers";
import { create, createRegistry, toBinary, toJsonString } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { PingService } from "../../gen/platform/ping/v2/ping_pb.ts";
import { createLocalTransport } from "../../src/call/local-transport.ts";
import { Deadline, type HttpResponse, send } from "../../src/message/index.ts";
import { createRestHandler } from "../../src/rest/index.ts";
import { type OpenPort, openPort } from "../http/open-port.ts";
import { rpcCallbacks } from "./handler-fixture.ts";
import { checkPath } from "./handlers.ts";

/** Keeps the event loop until a deadline is past: timers fire too late. */
function keepBusy(context: HandlerContext): void {
  while (context.timeoutMs()! > 0);
}

/** Answers at once, or so late that the deadline is past: its work is done. */
function check({ service }: { service: string }, context: HandlerContext) {
  done.push(service);
  if (service === "busy") keepBusy(context);
  if (service !== "waits and is busy") return { status: Status.SERVING };
  return new Promise((resolve) => setImmediate(resolve)).then(() => {
    keepBusy(context);
    return { status: Status.SERVING };
  });
}
const done: string[] = [];

/** Told that the server has the headers of a request. */
let onHeaders = () => {};

/** Waits so long after the server has the headers of the next request. */
function afterHeaders(ms: number): Promise<void> {
  return new Promise((resolve) => {
    onHeaders = () => void setTimeout(resolve, ms);
  });
}

let fast: OpenPort;
let standard: OpenPort;

beforeAll(async () => {
  const implementations = [{ service: Health, methods: { check } as never }];
  const open = (fastPath: boolean) => {
    const { onRequest, planFastPath, ...callbacks } = rpcCallbacks({
      implementations,
      fastPath,
      onError: () => {},
      describeError: (error) => error.metadata.set("is-described", "yes"),
    });
    return openPort(false, {
      ...callbacks,
      onRequest(request, response) {
        onHeaders();
        onRequest(request, response);
      },
      ...(planFastPath && {
        planFastPath(fields) {
          onHeaders();
          return planFastPath(fields);
        },
      }),
    });
  };
  [fast, standard] = await Promise.all([open(true), open(false)]);
});
afterAll(() => Promise.all([fast, standard].map(({ port }) => port.close({ graceMs: 0 }))));

const messageOf = (service: string) => create(HealthCheckRequestSchema, { service });

/** A call's form, and the name and the unit of its time-out. */
const protocols: Record<string, { type: string; timeout: [string, string]; body(service: string): Buffer }> = {
  "Connect, JSON": {
    type: "application/json",
    timeout: ["connect-timeout-ms", ""],
    body: (service) => Buffer.from(toJsonString(HealthCheckRequestSchema, messageOf(service))),
  },
  "Connect, binary": {
    type: "application/proto",
    timeout: ["connect-timeout-ms", ""],
    body: (service) => Buffer.from(toBinary(HealthCheckRequestSchema, messageOf(service))),
  },
  gRPC: { type: "application/grpc", timeout: ["grpc-timeout", "m"], body: envelope },
  "gRPC-Web": { type: "application/grpc-web+proto", timeout: ["grpc-timeout", "m"], body: envelope },
};

function envelope(service: string): Buffer {
  const message = toBinary(HealthCheckRequestSchema, messageOf(service));
  return Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]);
}

async function byHttp1(
  port: OpenPort,
  name: string,
  service: string,
  { timeoutMs = 300, pauseMs = 0 },
): Promise<string> {
  const { type, timeout, body } = protocols[name]!;
  const bytes = body(service);
  const headers = { "content-type": type, [timeout[0]]: timeoutMs + timeout[1], "content-length": bytes.length };
  const paused = afterHeaders(pauseMs);
  const client = request1(port.origin + checkPath, { method: "POST", headers });
  client.flushHeaders();
  if (pauseMs > 0) await paused;
  client.end(bytes);
  const [response] = await once(client, "response");
  return JSON.stringify(response.headers) + (await text(response));
}

async function byHttp2(
  port: OpenPort,
  name: string,
  service: string,
  { timeoutMs = 300, pauseMs = 0 },
): Promise<string> {
  const { type, timeout, body } = protocols[name]!;
  const session = connect2(port.origin);
  const paused = afterHeaders(pauseMs);
  const stream = session.request({
    ":method": "POST",
    ":path": checkPath,
    "content-type": type,
    te: "trailers",
    [timeout[0]]: timeoutMs + timeout[1],
  });
  let trailers = {};
  stream.on("trailers", (fields) => {
    trailers = fields;
  });
  if (pauseMs > 0) await paused;
  stream.end(body(service));
  const [headers] = await once(stream, "response");
  const content = await text(stream);
  session.close();
  return JSON.stringify([headers, trailers]) + content;
}

const exceeded = /deadline_exceeded|grpc-status\W+4\b/;

describe.each(Object.keys(protocols))("%s", (name) => {
  const ways =
    name === "gRPC" ? [["HTTP/2", byHttp2] as const] : [["HTTP/1.1", byHttp1] as const, ["HTTP/2", byHttp2] as const];
  describe.each(ways)("by %s", (_version, ask) => {
    it.each(["fast", "standard"])("%s: from the headers on, however long the body takes", async (way) => {
      done.length = 0;
      expect(await ask(way === "fast" ? fast : standard, name, "late", { timeoutMs: 30, pauseMs: 400 })).toMatch(
        exceeded,
      );
      expect(done).toEqual([]);
    });

    it.each(["fast", "standard"])("%s: a time-out of zero has passed, and its error is described", async (way) => {
      const answer = await ask(way === "fast" ? fast : standard, name, "at once", { timeoutMs: 0 });
      expect(answer).toMatch(exceeded);
      expect(answer).toMatch(/is-described\W+yes/);
    });

    it.each([
      ["fast", "busy"],
      ["standard", "busy"],
      ["fast", "waits and is busy"],
      ["standard", "waits and is busy"],
    ])("%s: an answer of a handler that %s is too late", async (way, service) => {
      done.length = 0;
      expect(await ask(way === "fast" ? fast : standard, name, service, {})).toMatch(exceeded);
      expect(done).toEqual([service]);
    });
  });
});

describe("REST", () => {
  it("counts from when the request came, and before what is ready is sent", async () => {
    const implementations = [{ service: PingService, methods: { ping: () => ({}) } as never }];
    const rest = createRestHandler({
      transport: createLocalTransport(implementations, []),
      services: [PingService],
      registry: createRegistry(),
    });
    const port = await openPort(false, { onRequest: (request, response) => void rest(request, response) });
    const { socket, received, closed } = await port.dial();
    socket.write("GET /ping/v2/ping HTTP/1.1\r\nhost: a\r\nx-server-timeout: 10\r\n\r\n");
    await expect.poll(received).toContain("200 OK");
    socket.end("GET /ping/v2/ping HTTP/1.1\r\nhost: a\r\nx-server-timeout: 0\r\nconnection: close\r\n\r\n");
    expect(await closed).toContain("504 Gateway Timeout");
    await port.port.close({ graceMs: 0 });
  });

  it("an answer that takes too long to be written is none", () => {
    const past = new Deadline({ startedMs: performance.now() - 100 }, 50);
    const response = { writableEnded: false, destroyed: false, headersSent: false } as HttpResponse;
    const answer = { httpStatus: 200, headers: {}, body: "{}", deadline: past };
    expect(() => send(response, answer)).toThrow("Deadline exceeded");
    expect(past.leftMs()).toBeLessThan(0);
  });
});
