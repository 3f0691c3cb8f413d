import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createConnectTransport } from "@connectrpc/connect-web";
import { expect, onTestFinished, test } from "vitest";
import { handleCors } from "../../src/app/cors.ts";
import { createPlatformClient } from "../../src/client/package.ts";

const origin = "https://app.example.com";

/** Sends one request to a server that handles CORS, and answers 200 to anything but a preflight. */
async function send(origins: readonly string[], method: string, headers: Record<string, string>): Promise<Response> {
  const server = createServer((request, response) => {
    if (!handleCors(origins, request, response)) response.end("handled");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method, headers });
}

const list = (response: Response, name: string) => (response.headers.get(name) ?? "").toLowerCase().split(", ");

test("off: no header is set", async () => {
  const response = await send([], "GET", { origin });
  expect(await response.text()).toBe("handled");
  expect([...response.headers.keys()].filter((name) => /^(vary|access-control)/.test(name))).toEqual([]);
});

test.each([[[origin]], [["https://other.example", origin]], [["*"]]])(
  "a call from an allowed origin: %j",
  async (origins) => {
    const response = await send(origins, "GET", { origin });
    expect(await response.text()).toBe("handled");
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("vary")).toBe("Origin");
    expect(list(response, "access-control-expose-headers")).toEqual(
      expect.arrayContaining([
        "etag",
        "x-request-id",
        "www-authenticate",
        "retry-after",
        "grpc-status",
        "grpc-message",
        "grpc-status-details-bin",
      ]),
    );
    expect(response.headers.has("access-control-allow-credentials")).toBe(false);
  },
);

test.each([
  ["https://app.example.com.evil.example"],
  ["http://app.example.com"],
  ["https://app.example.com:8443"],
  ["null"],
])("a call from %s is not allowed, and the response varies by origin", async (other) => {
  const response = await send([origin], "GET", { origin: other });
  expect(await response.text()).toBe("handled");
  expect(response.headers.has("access-control-allow-origin")).toBe(false);
  expect(response.headers.get("vary")).toBe("Origin");
});

test("a call without an origin gets no permission", async () => {
  const response = await send([origin], "GET", {});
  expect(response.headers.has("access-control-allow-origin")).toBe(false);
  expect(response.headers.get("vary")).toBe("Origin");
});

test("a preflight is answered", async () => {
  const response = await send([origin], "OPTIONS", { origin, "access-control-request-method": "PATCH" });
  expect([response.status, await response.text()]).toEqual([204, ""]);
  expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  expect(list(response, "access-control-allow-methods")).toEqual(
    expect.arrayContaining(["get", "head", "post", "patch", "delete"]),
  );
  expect(list(response, "access-control-allow-headers")).toEqual(
    expect.arrayContaining([
      "authorization",
      "content-type",
      "if-match",
      "x-request-id",
      "connect-protocol-version",
      "grpc-timeout",
    ]),
  );
  expect(Number(response.headers.get("access-control-max-age"))).toBeGreaterThan(0);
});

test.each([
  ["from elsewhere", { origin: "https://evil.example", "access-control-request-method": "PATCH" }],
  ["without a method", { origin }],
])("OPTIONS %s is not a preflight to answer", async (_what, headers) => {
  expect(await (await send([origin], "OPTIONS", headers)).text()).toBe("handled");
});

test("a page may send what the TypeScript client sends", async () => {
  const sent: string[] = [];
  const client = createPlatformClient({
    server: "http://platform.example.com",
    token: "token",
    transport: (options) =>
      createConnectTransport({
        ...options,
        async fetch(_, init) {
          sent.push(...new Headers(init?.headers).keys());
          return Response.json({});
        },
      }),
  });
  await client.repos.create({ parent: "uid" });
  expect(sent).toEqual(expect.arrayContaining(["authorization", "connect-timeout-ms", "idempotency-key"]));
  const response = await send([origin], "OPTIONS", { origin, "access-control-request-method": "POST" });
  expect(list(response, "access-control-allow-headers")).toEqual(expect.arrayContaining(sent));
});
