import { createRegistry } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import { type Client, type ClientReadableStream, credentials, loadPackageDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { protoPath } from "grpc-health-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import { createLocalTransport } from "../../src/call/local-transport.ts";
import { createConnectHandler } from "../../src/rpc/connect/adapter.ts";
import { createHealth, mountHealth } from "../../src/rpc/health.ts";
import { openPort } from "../http/open-port.ts";

/** What grpc-js makes of health.proto, as far as it is used here. */
interface WithHealth {
  readonly grpc: {
    readonly health: {
      readonly v1: { readonly Health: new (...args: ConstructorParameters<typeof Client>) => HealthClient };
    };
  };
}

interface HealthClient extends Client {
  check(request: { service: string }, callback: (error: Error | null, answer: { status: string }) => void): void;
  watch(request: { service: string }): ClientReadableStream<{ status: string }>;
}

function start() {
  const health = createHealth(["a.B", "c.D"], new AbortController().signal);
  const transport = createRouterTransport((router) => mountHealth(router, health));
  return { health, client: createClient(Health, transport) };
}

describe("Check", () => {
  it.each(["", "a.B", "c.D"])("reports the status of %j", async (service) => {
    const { health, client } = start();
    expect(await client.check({ service })).toMatchObject({ status: Status.NOT_SERVING });
    health.setServing(true);
    expect(await client.check({ service })).toMatchObject({ status: Status.SERVING });
    health.setServing(false);
    expect(await client.check({ service })).toMatchObject({ status: Status.NOT_SERVING });
  });

  it("answers NOT_FOUND for an unknown service", async () => {
    await expect(start().client.check({ service: "x.Y" })).rejects.toMatchObject({ code: Code.NotFound });
  });
});

describe("List", () => {
  it("reports the status of every service", async () => {
    const { health, client } = start();
    health.setServing(true);
    const { statuses } = await client.list({});
    expect(Object.keys(statuses)).toEqual(["", "a.B", "c.D"]);
    expect(Object.values(statuses).map(({ status }) => status)).toEqual(Array(3).fill(Status.SERVING));
  });
});

describe("Watch", () => {
  it("reports the status at once and after each change, and only then", async () => {
    const { health, client } = start();
    const seen: Status[] = [];
    for await (const { status } of client.watch({ service: "a.B" })) {
      seen.push(status);
      if (seen.length === 1) {
        health.setServing(false); // No change.
        health.setServing(true);
      }
      if (seen.length === 2) setTimeout(() => health.setServing(false), 5);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual([Status.NOT_SERVING, Status.SERVING, Status.NOT_SERVING]);
  });

  it("reports SERVICE_UNKNOWN for an unknown service and goes on", async () => {
    const seen: Status[] = [];
    const read = async () => {
      for await (const { status } of start().client.watch({ service: "x.Y" }, { timeoutMs: 30 })) seen.push(status);
    };
    await expect(read()).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    expect(seen).toEqual([Status.SERVICE_UNKNOWN]);
  });
});

describe("over the wire, for grpc-js", () => {
  it("reports its status, and ends watches at shutdown with the error given", async () => {
    const shutdown = new AbortController();
    const health = createHealth(["a.B"], shutdown.signal);
    health.setServing(true);
    const handler = createConnectHandler({
      transport: createLocalTransport([], []),
      services: [],
      registry: createRegistry(),
      mount: (router) => mountHealth(router, health),
      answerHeaders: () => ({}),
      refusalBody: () => "",
    });
    const { port, number } = await openPort(false, {
      onRequest: (request, response) => void handler(request.url ?? "", request, response),
    });
    onTestFinished(() => port.close({ graceMs: 0 }));

    const { grpc } = loadPackageDefinition(loadSync(protoPath, { enums: String })) as unknown as WithHealth;
    const client = new grpc.health.v1.Health(`127.0.0.1:${number}`, credentials.createInsecure());
    onTestFinished(() => client.close());
    const checked = await new Promise((resolve, reject) => {
      client.check({ service: "a.B" }, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
    expect(checked).toEqual({ status: "SERVING" });

    const seen: string[] = [];
    const ended = new Promise((resolve) => {
      client
        .watch({ service: "" })
        .on("data", ({ status }) => seen.push(status))
        .on("error", resolve);
    });
    await expect.poll(() => seen).toEqual(["SERVING"]);
    health.setServing(false);
    await expect.poll(() => seen).toEqual(["SERVING", "NOT_SERVING"]);
    shutdown.abort(new ConnectError("stopping", Code.Unavailable));
    expect(await ended).toMatchObject({ code: 14, details: "stopping" });
  });
});
