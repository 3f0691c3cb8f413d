/** Sessions of browsers: their refresh token is in a cookie, and only pages of this server use it. */
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startServer } from "../../src/app/index.ts";
import { readConfig } from "../../src/config/index.ts";
import { createLogger } from "../../src/log.ts";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { migratedSqlite } from "./databases.ts";
import { onEveryServer } from "./live-server.ts";

const byCookie = { "x-platform-session": "cookie" };

onEveryServer("sessions of browsers", {}, (server) => {
  let key: TestKey;
  let external: LocalIssuer;
  let token: string;
  beforeAll(async () => {
    key = await testKey("ES256", "a");
    external = await startIssuer(key);
    const { call, group } = server();
    const body = { name: "browser", claimMatch: { issuer: external.url, subject: "browser" } };
    expect((await call("POST", `/iam/v2/identities/${await group()}`, body)).status).toBe(200);
    const seconds = Math.floor(Date.now() / 1000);
    const claims = { iss: external.url, sub: "browser", aud: server().baseUrl, iat: seconds, exp: seconds + 900 };
    token = await sign(key, claims);
  });
  afterAll(() => external.close());

  async function post(path: string, headers: Record<string, string>, parameters: Record<string, string> = {}) {
    const body = new URLSearchParams(parameters);
    const response = await fetch(`${server().baseUrl}${path}`, { method: "POST", headers, body });
    const answer = await response.text();
    return {
      status: response.status,
      body: answer === "" ? undefined : JSON.parse(answer),
      cookie: response.headers.getSetCookie()[0],
    };
  }

  /** Begins a session. Returns the header of its cookie. */
  async function begin(): Promise<string> {
    const { cookie } = await post("/sts/exchange", byCookie, { subject_token: token });
    return cookie!.split(";")[0]!;
  }

  test("begin, go on and end without a refresh token that a script could read", async () => {
    const begun = await post("/sts/exchange", byCookie, { subject_token: token });
    expect(Object.keys(begun.body).sort()).toEqual(["expiry", "token"]);
    expect(begun.cookie).toMatch(
      /^platform-session=[\w-]{64}; Max-Age=[1-9]\d+; Path=\/sts; HttpOnly; SameSite=Strict$/,
    );
    const cookie = begun.cookie!.split(";")[0]!;
    const refreshed = await post("/sts/exchange_refresh_token", { ...byCookie, cookie: `other=1; ${cookie}` });
    expect(refreshed.status).toBe(200);
    expect(Object.keys(refreshed.body)).toEqual(["token"]);
    const next = refreshed.cookie!.split(";")[0]!;
    expect(next).not.toBe(cookie);
    const revoked = await post("/sts/revoke", { ...byCookie, cookie: next });
    expect(revoked).toMatchObject({ status: 200, cookie: expect.stringContaining("platform-session=; Max-Age=0; ") });
    expect((await post("/sts/exchange_refresh_token", { ...byCookie, cookie: next })).status).toBe(401);
  });

  test("lose their cookie when they have ended", async () => {
    const cookie = await begin();
    await post("/sts/exchange_refresh_token", { ...byCookie, cookie });
    const reused = await post("/sts/exchange_refresh_token", { ...byCookie, cookie });
    expect(reused).toMatchObject({ status: 401, cookie: expect.stringContaining("Max-Age=0") });
  });

  test("a cookie counts only with the header, which other origins may not send", async () => {
    const cookie = await begin();
    expect((await post("/sts/exchange_refresh_token", { cookie })).status).toBe(401);
    expect((await post("/sts/exchange_refresh_token", { cookie, "x-platform-session": "yes" })).status).toBe(400);
    expect((await post("/sts/exchange_refresh_token", { ...byCookie, cookie })).status).toBe(200);
  });

  test.each([
    ["another origin", { origin: "https://evil.example" }],
    ["a page without an origin", { origin: "null" }],
    ["another site", { "sec-fetch-site": "cross-site" }],
    ["another host of the site", { "sec-fetch-site": "same-site" }],
    ["an address that was typed", { "sec-fetch-site": "none" }],
  ])("%s is refused, and the session goes on", async (_, headers) => {
    const cookie = await begin();
    const refused = await post("/sts/exchange_refresh_token", { ...byCookie, cookie, ...headers });
    expect(refused).toMatchObject({ status: 403, cookie: undefined });
    expect((await post("/sts/exchange", { ...byCookie, ...headers }, { subject_token: token })).status).toBe(403);
    const { origin } = new URL(server().baseUrl);
    const own = { ...byCookie, cookie, origin, "sec-fetch-site": "same-origin" };
    expect((await post("/sts/exchange_refresh_token", own)).status).toBe(200);
  });

  test("an OAuth client has it, too, and without the header nothing changes", async () => {
    const grant = { grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", subject_token: token };
    const begun = await post("/sts/exchange", byCookie, grant);
    expect(begun.body).not.toHaveProperty("refresh_token");
    expect(begun.cookie).toMatch(/^platform-session=/);
    const plain = await post("/sts/exchange", {}, grant);
    expect([plain.body.refresh_token.length, plain.cookie]).toEqual([64, undefined]);
  });

  test("over HTTP/2", async () => {
    const client = connect(server().baseUrl);
    try {
      const headers = { ":method": "POST", ":path": "/sts/exchange_refresh_token", ...byCookie };
      const stream = client.request({ ...headers, cookie: await begin(), origin: server().baseUrl });
      const status = new Promise((done) => stream.once("response", ({ ":status": it }) => done(it)));
      stream.end();
      expect([await status, JSON.parse(await text(stream))]).toEqual([200, { token: expect.anything() }]);
    } finally {
      client.close();
    }
  });
});

test("behind a proxy with TLS, the cookie is sent over TLS only, and the origin is that of the proxy", async () => {
  const flags = { listen: "127.0.0.1:0", adminListen: "off", drainDelay: "0", baseUrl: "https://platform.example" };
  const place = await migratedSqlite();
  const config = readConfig({ flags: { ...flags, database: place.url }, env: {}, warn: () => {} });
  const running = await startServer(config, createLogger("silent"));
  onTestFinished(async () => {
    await running.stop();
    await place.remove();
  });
  const token = await running.mintToken(running.installed!.administratorUid, 3600);
  const exchange = (origin: string) =>
    fetch(`${running.listenUrl}/sts/exchange`, {
      method: "POST",
      headers: { ...byCookie, origin, authorization: `Bearer ${token}` },
    });
  const { status, headers } = await exchange("https://platform.example");
  // A token of the platform begins no session.
  expect([status, headers.getSetCookie()]).toEqual([
    200,
    ["__Host-platform-session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure"],
  ]);
  expect((await exchange("https://other.example")).status).toBe(403);
});
