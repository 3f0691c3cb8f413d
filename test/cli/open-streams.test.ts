/** Streams of methods that need no token, over every protocol and both implementations of HTTP/2. */
import { setImmediate } from "node:timers/promises";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionV1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { PingService } from "../../gen/platform/ping/v2/ping_pb.ts";
import { settingsIn, startPlatformForTest, temporaryFolder } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" }),
};

/** Sends so many requests in one stream. Returns how many were answered, and the error that ended it. */
async function reflect(
  transport: Transport,
  count: number,
  {
    service = ServerReflection,
    headers = {},
  }: { service?: typeof ServerReflection; headers?: Record<string, string> } = {},
) {
  let answers = 0;
  let isOver = false;
  // Each waits for the answer before it: a client that still writes when the stream ends may miss why.
  const requests = (async function* () {
    for (let i = 0; i < count; i++) {
      yield { messageRequest: { case: "listServices" as const, value: "" } };
      while (answers <= i && !isOver) await setImmediate();
    }
  })();
  try {
    for await (const { messageResponse } of createClient(service, transport).serverReflectionInfo(requests, {
      headers,
    }))
      if (messageResponse.case === "listServicesResponse") answers++;
    return { answers, code: undefined, message: "" };
  } catch (error) {
    const { code, message } = ConnectError.from(error);
    return { answers, code, message };
  } finally {
    isOver = true;
  }
}

describe.each(["own", "node"])("with --http2=%s", (http2) => {
  async function start(...more: string[]) {
    const { database, serve } = settingsIn(await temporaryFolder());
    const { baseUrl } = await startPlatformForTest([...serve, "--http2", http2, ...more]);
    return { baseUrl, database };
  }

  test("a stream of requests without a token ends after 100, one with a known token does not", async () => {
    const { baseUrl, database } = await start();
    const headers = { authorization: `Bearer ${(await runHere(["token", ...database])).stdout.trim()}` };
    for (const [name, transportOf] of Object.entries(transports)) {
      const transport = transportOf(baseUrl);
      expect(await reflect(transport, 100), name).toEqual({ answers: 100, code: undefined, message: "" });
      for (const service of [ServerReflection, ServerReflectionV1Alpha as unknown as typeof ServerReflection])
        expect(await reflect(transport, 1000, { service }), name).toEqual({
          answers: 100,
          code: Code.ResourceExhausted,
          message: expect.stringContaining("takes 100 requests"),
        });
      const bogus = { authorization: "Bearer a.b.c" };
      expect(await reflect(transport, 101, { headers: bogus }), name).toMatchObject({ code: Code.ResourceExhausted });
    }
    const transport = transports.gRPC!(baseUrl);
    const repos = await fetch(`${baseUrl}/registry/v2/repos`, { headers });
    expect(repos.status).toBe(200);
    expect(await reflect(transport, 300, { headers })).toMatchObject({ answers: 300, code: undefined });
  });

  test("each request of a stream counts against the limit of its address", async () => {
    const { baseUrl } = await start("--rate-limit-address", "1/40");
    for (const [name, transportOf] of Object.entries(transports)) {
      const { answers, code, message } = await reflect(transportOf(baseUrl), 100);
      expect(answers, name).toBeLessThan(100);
      expect({ code, message }, name).toMatchObject({
        code: Code.ResourceExhausted,
        message: expect.stringContaining("too many requests (address)"),
      });
    }
    const ping = createClient(PingService, transports.gRPC!(baseUrl));
    const pings = Array.from({ length: 60 }, () => ping.ping({}).catch((error) => ConnectError.from(error).code));
    expect(await Promise.all(pings)).toContain(Code.ResourceExhausted);
  });

  test("a watch of health counts as a request", async () => {
    const { baseUrl } = await start("--rate-limit-address", "1/20");
    for (const [name, transportOf] of Object.entries(transports)) {
      const watches = Array.from({ length: 60 }, async () => {
        try {
          for await (const _ of createClient(Health, transportOf(baseUrl)).watch({})) return undefined;
        } catch (error) {
          return ConnectError.from(error).code;
        }
      });
      expect(await Promise.all(watches), name).toContain(Code.ResourceExhausted);
    }
  });
});
