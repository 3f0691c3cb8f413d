/**
 * No request costs the event loop much: neither what is refused, nor a body as large as a caller may send. Processor
 * time of the thread that serves is compared with that of a warm Get in the same run; the client has a thread of its
 * own. On SQLite, whose work is in this thread, and counts.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type LocalIssuer, sign, startIssuer, type TestKey, testKey } from "../auth/local-issuer.ts";
import { freshName, makeGroup, makeIdentity, makeRepo } from "./fixtures.ts";
import { compressed, type HostileRequest, hostileCalls, hostileExchanges, hostileScim } from "./hostile-requests.ts";
import { onSqlite, type Platform } from "./platform.ts";
import type { Sending, SentRequest } from "./request-sender.ts";

/** How many times a warm Get. */
const maxRatio = { refused: 50, authenticated: 500 };
/** Of so many that seem most expensive the cost is measured again. */
const suspects = 12;
const tries = 5;

interface Cost {
  readonly request: HostileRequest;
  readonly ms: number;
  readonly status: number;
  readonly answerBytes: number;
}

let sender: Worker;
let issuer: LocalIssuer;
let key: TestKey;

beforeAll(async () => {
  sender = new Worker(new URL("./request-sender.ts", import.meta.url));
  key = await testKey("ES256", "k");
  issuer = await startIssuer(key);
});
afterAll(async () => {
  issuer.close();
  await sender.terminate();
});

/** Makes a request a few times, one after the other. Returns the processor time that one took in this thread. */
async function costOf(platform: Platform, request: HostileRequest, token?: string, times = 1): Promise<Cost> {
  const { verb: method, target: path, type, coding } = request;
  const body = request.body();
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { "content-type": type, "content-length": body.length }),
    ...(coding !== undefined && { "content-encoding": coding }),
  };
  const { hostname: host, port } = new URL(platform.baseUrl);
  sender.postMessage({ options: { host, port, method, path, headers }, body, times } satisfies Sending);
  await once(sender, "message"); // it has the body
  const before = process.threadCpuUsage();
  sender.postMessage("send");
  const [{ status, answerBytes }] = (await once(sender, "message")) as [SentRequest];
  const { user, system } = process.threadCpuUsage(before);
  return { request, status, answerBytes, ms: (user + system) / 1000 / times };
}

/** The most expensive of some requests, by the least that each costs in several tries. */
async function dearest(platform: Platform, requests: readonly HostileRequest[], token?: string) {
  const costs: Cost[] = [];
  for (const request of requests) costs.push(await costOf(platform, request, token));
  const candidates = costs.toSorted((a, b) => b.ms - a.ms).slice(0, suspects);
  const least: Cost[] = [];
  for (const cost of candidates) {
    const again = [cost];
    for (let i = 0; i < tries; i++) again.push(await costOf(platform, cost.request, token));
    least.push(again.reduce((best, one) => (one.ms < best.ms ? one : best)));
  }
  return { costs, most: least.reduce((worst, one) => (one.ms > worst.ms ? one : worst)) };
}

const settings = {
  allowLoopbackIssuers: true,
  rateLimitRead: undefined,
  rateLimitList: undefined,
  rateLimitWrite: undefined,
  rateLimitAddress: undefined,
  rateLimitExchange: undefined,
};

onSqlite(
  "the cost of a request",
  (platform) => {
    /** What a warm Get costs, in milliseconds. */
    async function warmGetMs(): Promise<number> {
      const { uid } = await makeRepo(platform(), platform().root);
      const get = { name: "Get", verb: "GET", target: `/registry/v2/repos/${uid}`, type: "", body: () => undefined };
      const batches: number[] = [];
      for (let i = 0; i < 10; i++) {
        const { ms, status } = await costOf(platform(), get, platform().admin, 200);
        expect(status).toBe(200);
        if (i > 2) batches.push(ms);
      }
      return Math.min(...batches);
    }

    function check(who: string, cost: Cost, getMs: number, max: number): void {
      const ratio = cost.ms / getMs;
      const text = `${cost.request.name}, answered ${cost.status}`;
      console.info(
        `most expensive ${who}: ${text}: ${ratio.toFixed(1)} times a Get of ${(getMs * 1000).toFixed(0)} µs`,
      );
      expect(ratio, text).toBeLessThan(max);
    }

    /** A token that an issuer of a tenant has signed, and that no identity matches. */
    async function tokenWithoutCaller(): Promise<string> {
      const { uid } = await makeGroup(platform(), "");
      const rule = { issuer: issuer.url, subjectPattern: "repo:.*", claimPatterns: { job: "build-.*" } };
      await makeIdentity(platform(), uid, { claimMatch: rule });
      const now = Math.floor(Date.now() / 1000);
      return sign(key, {
        ...{ iss: issuer.url, sub: "repo:app", aud: platform().baseUrl, iat: now, exp: now + 3600, job: "test" },
      });
    }

    async function scimClient(): Promise<{ readonly token: string; readonly requests: HostileRequest[] }> {
      const { uid: parent } = await makeGroup(platform(), "");
      const oidc = { issuer: "https://directory.example.com", clientId: "client", clientSecret: freshName("secret") };
      const { roles } = await platform().ok("ListRoles", { name: "viewer", uidp: { inRoot: true } });
      const identityProvider = { name: "directory", defaultRole: roles[0].uid, oidc };
      const { uid } = await platform().ok("CreateIdentityProvider", { parent, identityProvider });
      const post = async (path: string, body: object, headers = {}) => {
        const answer = await platform().fetch(path, { method: "POST", body: JSON.stringify(body), headers });
        expect(answer.ok, path).toBe(true);
        return (await answer.json()) as { token: string; etag: string; id: string };
      };
      const { token, etag } = await post(`/iam/v1/identityProviders/${uid}:generateScimToken`, {});
      await post(`/iam/v1/identityProviders/${uid}:setScimEnabled`, { enabled: true, etag });
      const own = { authorization: `Bearer ${token}`, "content-type": "application/scim+json" };
      const user = await post("/scim/v2/Users", { userName: "user", emails: [{ value: "a@b.c" }] }, own);
      const group = await post("/scim/v2/Groups", { displayName: "group" }, own);
      return { token, requests: hostileScim(user.id, group.id) };
    }

    test("is small for every field of every method, and so is its answer", { timeout: 1_800_000 }, async () => {
      const getMs = await warmGetMs();
      const requests = [...compressed(), ...hostileExchanges(), ...(await hostileCalls(platform()))];
      for (const request of requests.slice(0, 40)) await costOf(platform(), request, platform().admin);
      const { costs, most } = await dearest(platform(), requests, platform().admin);
      const refused = costs.filter(({ status }) => status >= 400);
      expect(refused.length).toBeGreaterThan(requests.length / 2);
      expect(refused.filter(({ status }) => status >= 500)).toEqual([]);
      for (const { request, answerBytes } of refused) expect(answerBytes, request.name).toBeLessThan(16 * 1024);
      check("with a token", most, getMs, maxRatio.authenticated);
    });

    test("without a caller is that of a few calls", { timeout: 1_800_000 }, async () => {
      const getMs = await warmGetMs();
      const scim = await scimClient();
      const calls = await hostileCalls(platform());
      // What is refused before its body is read costs the same whatever that is: one of each kind for each address.
      const byTarget = new Map(calls.map((call) => [`${call.verb} ${call.target.slice(0, 500)} ${call.type}`, call]));
      const requests = [...compressed(), ...hostileExchanges(), ...scim.requests, ...byTarget.values()];
      const withoutCaller = await tokenWithoutCaller();
      for (const [who, token] of [
        ["anonymous", undefined],
        ["with an unknown token", "x".repeat(8000)],
        ["with a token without a caller", withoutCaller],
      ] as const) {
        for (const request of requests.slice(0, 40)) await costOf(platform(), request, token);
        const { most } = await dearest(platform(), requests, token);
        check(who, most, getMs, maxRatio.refused);
      }
    });

    test("of a provisioning client is small", { timeout: 1_800_000 }, async () => {
      const getMs = await warmGetMs();
      const { token, requests } = await scimClient();
      const { costs, most } = await dearest(platform(), requests, token);
      expect(costs.filter(({ status }) => status >= 500)).toEqual([]);
      check("with a token for provisioning", most, getMs, maxRatio.authenticated);
    });
  },
  settings,
);
