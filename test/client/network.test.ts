/** Servers that cannot be reached, connections that break, and limits of time. */
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { createServer, type Socket } from "node:net";
import { inspect } from "node:util";
import { Code, ConnectError } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  createPlatformClient,
  exchangedToken,
  PlatformError,
  type TransportOptions,
} from "../../src/client/package.ts";
import { grpc } from "../../src/client-node/package.ts";
import { type StandIn, startPlatform } from "../../src/testing/index.ts";

let platform: StandIn;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.stop());

const soon = { initialDelayMs: 1 };

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error as PlatformError,
  );

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.each<[string, Pick<TransportOptions, "transport">]>([
  ["Connect", {}],
  ["gRPC", { transport: grpc }],
])("over %s", (protocol, over) => {
  const clientOf = (options: Partial<TransportOptions> = {}) =>
    createPlatformClient({ server: platform.baseUrl, token: platform.token, retry: soon, ...over, ...options });

  test("a server that is down is UNAVAILABLE, with its address and why", async () => {
    const closed = createServer();
    const address = await listen(closed);
    closed.close();
    const error = await failureOf(clientOf({ server: `http://${address}` }).ping.ping({}));
    expect(error).toMatchObject({ code: Code.Unavailable, reason: "UNAVAILABLE" });
    expect(`${error}`).toBe(
      `PlatformError: [unavailable] cannot reach http://${address}: connect ECONNREFUSED ${address}`,
    );
    expect(inspect(error)).toMatch(/^PlatformError: \[unavailable\] cannot reach/);
    expect(error).toBeInstanceOf(ConnectError);
  });

  test.each<[string, (socket: Socket) => void]>([
    ["closed", (socket) => socket.end()],
    ["closed when the request comes", (socket) => socket.once("data", () => socket.destroy())],
    ["reset", (socket) => socket.once("data", () => socket.resetAndDestroy())],
  ])("a connection that is %s is UNAVAILABLE, and the call is repeated", async (_, end) => {
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.on("error", () => {});
      end(socket);
    });
    const client = clientOf({ server: `http://${await listen(server)}`, retry: { ...soon, maxAttempts: 3 } });
    expect(await failureOf(client.ping.ping({}))).toMatchObject({ code: Code.Unavailable });
    expect(connections).toBe(3);
  });

  test("TLS to a port without it is UNAVAILABLE", async () => {
    const client = clientOf({ server: platform.baseUrl.replace("http:", "https:") });
    expect(await failureOf(client.ping.ping({}))).toMatchObject({ code: Code.Unavailable });
  });

  test.each(["drop", "disconnect-after=0", "disconnect-after=5"])("%s is UNAVAILABLE, and repeated", async (fault) => {
    let calls = 0;
    const counting: TransportOptions["transport"] = (options) => {
      const inner = clientFactory(over)(options);
      return { ...inner, unary: (...call) => inner.unary(...call).finally(() => calls++) };
    };
    const client = clientOf({ transport: counting, retry: { ...soon, maxAttempts: 3 } });
    const headers = { "x-platform-fault": fault };
    const error = await failureOf(client.groups.list({}, { headers }).page());
    expect({ code: Code[error.code], calls }).toEqual({ code: "Unavailable", calls: 3 });
    expect(error.message).toContain(`cannot reach ${platform.baseUrl}: `);
    const name = `${protocol}-${fault.replaceAll("=", "-")}`.toLowerCase();
    calls = 0;
    const create = client.repos.create({ parent: platform.rootGroup, repo: { name } }, { headers });
    expect(await failureOf(create)).toMatchObject({ code: Code.Unavailable });
    expect(calls).toBe(3);
    // All attempts had one key.
    const isCarriedOut = fault !== "drop";
    expect((await client.repos.list({ name }).page()).totalCount).toBe(isCarriedOut ? 1n : 0n);
  });

  test("a time limit of 0 or Infinity is none, and others are checked", async () => {
    for (const timeoutMs of [0, Number.POSITIVE_INFINITY, 86_400_000, 59_999.5]) {
      expect(await clientOf().ping.ping({}, { timeoutMs })).toMatchObject({ response: "pong" });
      expect(await clientOf({ timeoutMs }).ping.ping({})).toMatchObject({ response: "pong" });
    }
    for (const timeoutMs of [Number.NaN, -1, 86_400_001, Number.NEGATIVE_INFINITY]) {
      expect(await failureOf(clientOf().ping.ping({}, { timeoutMs }))).toMatchObject({ code: Code.InvalidArgument });
      expect(() => clientOf({ timeoutMs })).toThrow("timeoutMs must be from 0 to 86400000, or Infinity");
    }
  });

  test("a server that is not a URL is refused at once", () => {
    for (const server of ["platform.example.com", "localhost:8080", "", undefined as never])
      expect(() => clientOf({ server })).toThrow(
        new TypeError(`the server must be an http or https URL, not ${JSON.stringify(server)}`),
      );
  });
});

function clientFactory({ transport }: Pick<TransportOptions, "transport">) {
  return transport ?? createConnectTransport;
}

test.each([
  [7, Code.Unavailable],
  [2, Code.Internal],
])("a stream of gRPC that is reset with %i has code %i", async (reset, code) => {
  const server = createHttp2Server().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.close(reset);
  });
  const client = createPlatformClient({ server: `http://${await listen(server)}`, transport: grpc, retry: soon });
  expect(await failureOf(client.ping.ping({}))).toMatchObject({ code });
});

test("a server of exchanges that is not a URL is refused at once", () => {
  expect(() => exchangedToken({ server: "platform.example.com", subject: "" })).toThrow(TypeError);
});

test.each([
  [Code.Unavailable, "UNAVAILABLE"],
  [Code.DeadlineExceeded, "DEADLINE_EXCEEDED"],
  [Code.Canceled, "CANCELLED"],
])("an error with code %i and no details has the reason %s", (code, reason) => {
  expect(new PlatformError("", code).reason).toBe(reason);
});
