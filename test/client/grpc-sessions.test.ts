/** Calls over gRPC of a port that does not speak HTTP/2. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer as createTcpServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createPlatformClient, PlatformError } from "../../src/client/package.ts";
import { grpc } from "../../src/client-node/package.ts";

test("fail, each with an error of its own, and end nothing else", async () => {
  const server = createServer((_, response) => response.end()).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createPlatformClient({ server: url, transport: grpc, retry: false });
  for (let round = 0; round < 3; round++) {
    const calls = [1, 2, 3].map(() => client.ping.ping({}));
    for (const { status, ...outcome } of await Promise.allSettled(calls)) {
      expect(status).toBe("rejected");
      expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(PlatformError);
    }
  }
  // An error that nobody listens to would be reported by now.
  await new Promise((done) => setImmediate(done));
});

test.each([
  ["when it opens", (socket: Socket) => socket.end()],
  ["by a reset when it opens", (socket: Socket) => socket.resetAndDestroy()],
  ["with the first bytes", (socket: Socket) => socket.once("data", () => socket.end())],
])("a connection that is closed %s fails its calls, and the next call opens another one", async (_, close) => {
  let connections = 0;
  const server = createTcpServer((socket) => {
    connections++;
    close(socket.on("error", () => {}));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = createPlatformClient({ server: url, transport: grpc, retry: false });
  for (let round = 0; round < 20; round++) {
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => client.ping.ping({})));
    for (const outcome of outcomes) expect((outcome as PromiseRejectedResult).reason).toMatchObject({ code: 14 });
  }
  expect(connections).toBe(20);
});
