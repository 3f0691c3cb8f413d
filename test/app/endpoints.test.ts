import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createEndpoints } from "../../src/app/endpoints.ts";
import { createIssuer, generateSigningKey } from "../../src/auth/index.ts";

const issuerUrl = "https://platform.example.com";

async function open(
  unreadiness: () => string | undefined = () => undefined,
): Promise<(path: string, method?: string) => Promise<Response>> {
  const keys = [await generateSigningKey(Date.now)];
  const issuer = await createIssuer({ issuer: issuerUrl, keys, clock: Date.now });
  const endpoints = createEndpoints({
    issuer,
    unreadiness,
    onProbe() {},
    onError: (error) => expect.fail(String(error)),
  });
  const server = createServer((request, response) => {
    if (!endpoints[request.url ?? ""]?.(request, response)) response.writeHead(404).end("not mine");
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (path, method = "GET") =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method });
}

test("livez is ok while the process lives, readyz while it takes calls", async () => {
  let ready = true;
  const send = await open(() => (ready ? undefined : "stopping"));
  for (const path of ["/livez", "/readyz"]) {
    const response = await send(path);
    expect([response.status, response.headers.get("content-type"), await response.json()]).toEqual([
      200,
      "application/json",
      { status: "ok" },
    ]);
  }
  ready = false;
  expect((await send("/livez")).status).toBe(200);
  const stopping = await send("/readyz");
  expect([stopping.status, await stopping.json()]).toEqual([503, { status: "stopping" }]);
});

test("the discovery document is the issuer's, names the keys, and may be cached", async () => {
  const send = await open();
  const discovery = await send("/.well-known/openid-configuration");
  expect(discovery.headers.get("cache-control")).toBe("public, max-age=300");
  const document = await discovery.json();
  expect(document).toMatchObject({ issuer: issuerUrl, jwks_uri: `${issuerUrl}/.well-known/jwks.json` });
  const { keys } = (await (await send("/.well-known/jwks.json")).json()) as { keys: [object] };
  expect(keys).toMatchObject([{ kty: "EC", crv: "P-256", alg: "ES256", use: "sig" }]);
  expect(Object.keys(keys[0])).not.toContain("d");
});

test.each(["/livez", "/readyz", "/.well-known/openid-configuration", "/.well-known/jwks.json"])(
  "HEAD %s is GET without its body",
  async (path) => {
    const send = await open();
    const [get, head] = [await send(path), await send(path, "HEAD")];
    expect([head.status, await head.text()]).toEqual([get.status, ""]);
    for (const name of ["content-type", "content-length", "cache-control"])
      expect(head.headers.get(name)).toBe(get.headers.get(name));
  },
);

test.each([
  ["POST", "/livez"],
  ["GET", "/livez/"],
  ["GET", "/constructor"],
  ["GET", "/__proto__"],
  ["GET", "/ping/v2/ping"],
])("%s %s is not handled", async (method, path) => {
  const response = await (await open())(path, method);
  expect([response.status, await response.text()]).toEqual([404, "not mine"]);
});
