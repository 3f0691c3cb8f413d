/**
 * Fairness: whoever floods a server delays its neighbours by a few calls of the flood at most, whatever connections and
 * protocols the flood uses, and is the one that is refused. Nothing is measured but the order of answers.
 */
import { Agent, request as httpRequest } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Json } from "./contract.ts";
import { freshUid, insertIdentity, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { onEveryServer, type Platform } from "./platform.ts";

/**
 * Calls that the flood has under way. A turn for the neighbour lets up to 16 calls of the flood go on, and a call needs
 * a turn for each of its few statements: so far fewer are answered meanwhile than if each of these had its turn.
 */
const flooding = 192;
/** Those of a connection of HTTP/2, which has 100 streams: the client lets more wait, and the neighbour behind them. */
const floodingStreams = 90;
const neighbourCalls = 20;
/**
 * How many calls of the flood may be answered for each of the neighbour, on average. If connections took turns, it
 * would be all those that are under way.
 */
const fairShare = flooding / 3;
const bindings = 100;

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Makes a request. */
type Send = (method: string, path: string, token: string, body?: string) => Promise<Answer>;

function overHttp1(platform: Platform): Send {
  const { hostname, port } = new URL(platform.baseUrl);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  return (method, path, token, body) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && jsonOf(body)) };
      httpRequest({ hostname, port, method, path, agent, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode!, body: text })).on("error", reject);
      })
        .on("error", reject)
        .end(body);
    });
}

const jsonOf = (body: string) => ({ "content-type": "application/json", "content-length": Buffer.byteLength(body) });

/** One connection of HTTP/2, as a proxy has for all its clients. */
function overHttp2(platform: Platform): Send {
  const session: ClientHttp2Session = connect(platform.baseUrl);
  onTestFinished(() => session.destroy());
  return (method, path, token, body) =>
    new Promise((resolve, reject) => {
      const fields = { ":method": method, ":path": path, authorization: `Bearer ${token}` };
      const stream = session.request({ ...fields, ...(body !== undefined && jsonOf(body)) });
      let status = 0;
      let text = "";
      stream.on("response", (headers) => {
        status = headers[":status"]!;
      });
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      stream.on("end", () => resolve({ status, body: text })).on("error", reject);
      stream.end(body);
    });
}

/** Repeats a call, as many times at once as a flood does, until the test ends. */
function flood(
  send: () => Promise<Answer>,
  calls = flooding,
): { readonly answered: number; readonly statuses: Map<number, number> } {
  const seen = { answered: 0, statuses: new Map<number, number>() };
  let isOver = false;
  const loops = Array.from({ length: calls }, async () => {
    while (!isOver) {
      const { status } = await send();
      seen.answered++;
      seen.statuses.set(status, (seen.statuses.get(status) ?? 0) + 1);
    }
  });
  onTestFinished(async () => {
    isOver = true;
    await Promise.all(loops);
  });
  return seen;
}

async function tenant(platform: Platform) {
  const { uid } = await makeGroup(platform, "");
  const { token } = await makeMember(platform, uid, "owner");
  const repo = await makeRepo(platform, uid);
  return { uid, token, repo: `/registry/v2/repos/${repo.uid}` };
}

/** A tenant that has a list that takes a few milliseconds. */
async function floodingTenant(platform: Platform) {
  const { uid, token, repo } = await tenant(platform);
  const { roles } = await platform.ok("ListRoles", { name: "viewer", uidp: { inRoot: true } });
  const requests: Json[] = [];
  for (let i = 0; i < bindings; i++) {
    const identityUid = freshUid(uid);
    await insertIdentity(platform, uid, `identity-${i}`, identityUid);
    requests.push({ roleBinding: { identityUid, roleUid: roles[0].uid } });
  }
  while (requests.length > 0)
    await platform.ok("BatchCreateRoleBindings", { parent: uid, requests: requests.splice(0, 25) });
  return { uid, token, repo, list: `/iam/v2/roleBindings?uidp.children_of=${uid}&page_size=200` };
}

/** Makes calls one after another. Returns their statuses, and how many calls of a flood were answered meanwhile. */
async function callsBeside(seen: { readonly answered: number }, send: () => Promise<Answer>) {
  await expect.poll(() => seen.answered).toBeGreaterThan(flooding);
  const before = seen.answered;
  const statuses: number[] = [];
  for (let i = 0; i < neighbourCalls; i++) statuses.push((await send()).status);
  return { statuses, meanwhile: seen.answered - before };
}

const served = Array.from({ length: neighbourCalls }, () => 200);

onEveryServer(
  "a flood of one organisation",
  (platform) => {
    describe.each([
      ["many connections", overHttp1],
      ["one connection of HTTP/2", overHttp2],
    ])("over %s", (_name, over) => {
      test("delays the calls of another by a few of its own", async () => {
        const flooder = await floodingTenant(platform());
        const neighbour = await tenant(platform());
        const send = over(platform());
        const sendOne = overHttp1(platform());
        expect((await sendOne("GET", neighbour.repo, neighbour.token)).status).toBe(200);
        const seen = flood(() => send("GET", flooder.list, flooder.token));
        const result = await callsBeside(seen, () => sendOne("GET", neighbour.repo, neighbour.token));
        expect(result.statuses).toEqual(served);
        expect(result.meanwhile).toBeLessThan(neighbourCalls * fairShare);
      });
    });

    test("delays the calls of another on the same connection by a few of its own", async () => {
      const flooder = await floodingTenant(platform());
      const neighbour = await tenant(platform());
      const send = overHttp2(platform());
      expect((await send("GET", neighbour.repo, neighbour.token)).status).toBe(200);
      const seen = flood(() => send("GET", flooder.list, flooder.token), floodingStreams);
      const result = await callsBeside(seen, () => send("GET", neighbour.repo, neighbour.token));
      expect(result.statuses).toEqual(served);
      expect(result.meanwhile).toBeLessThan(neighbourCalls * fairShare);
    });

    test("by several of its callers delays the calls of another as little", async () => {
      const flooder = await floodingTenant(platform());
      const members = await Promise.all(Array.from({ length: 8 }, () => makeMember(platform(), flooder.uid, "owner")));
      const neighbour = await tenant(platform());
      const send = overHttp1(platform());
      expect((await send("GET", neighbour.repo, neighbour.token)).status).toBe(200);
      let next = 0;
      const seen = flood(() => send("GET", flooder.list, members[next++ % members.length]!.token));
      const result = await callsBeside(seen, () => send("GET", neighbour.repo, neighbour.token));
      expect(result.statuses).toEqual(served);
      expect(result.meanwhile).toBeLessThan(neighbourCalls * fairShare);
    });

    test("by one of its callers delays another caller in it by a few calls", async () => {
      const flooder = await floodingTenant(platform());
      const colleague = await makeMember(platform(), flooder.uid, "owner");
      const send = overHttp1(platform());
      expect((await send("GET", flooder.repo, colleague.token)).status).toBe(200);
      const seen = flood(() => send("GET", flooder.list, flooder.token));
      const result = await callsBeside(seen, () => send("GET", flooder.repo, colleague.token));
      expect(result.statuses).toEqual(served);
      expect(result.meanwhile).toBeLessThan(neighbourCalls * fairShare);
    });

    test("by the client of its identity provider delays the calls of another by a few of its own", async () => {
      const flooder = await tenant(platform());
      const neighbour = await tenant(platform());
      const oidc = {
        issuer: "https://directory.example.com",
        clientId: flooder.uid,
        clientSecret: "secret-of-directory",
      };
      const as = flooder.token;
      const { roles } = await platform().ok("ListRoles", { name: "viewer", uidp: { inRoot: true } });
      const identityProvider = { name: "directory", defaultRole: roles[0].uid, oidc };
      const { uid } = await platform().ok("CreateIdentityProvider", { parent: flooder.uid, identityProvider }, { as });
      const send = overHttp1(platform());
      const post = async (path: string, body: object, token = as) => {
        const answer = await send("POST", path, token, JSON.stringify(body));
        expect(answer.status, answer.body).toBeLessThan(300);
        return JSON.parse(answer.body);
      };
      const { token, etag } = await post(`/iam/v1/identityProviders/${uid}:generateScimToken`, {});
      await post(`/iam/v1/identityProviders/${uid}:setScimEnabled`, { enabled: true, etag });
      for (let i = 0; i < 50; i++) await post("/scim/v2/Users", { userName: `user-${i}@example.com` }, token);
      const seen = flood(() => send("GET", "/scim/v2/Users?count=200", token));
      const result = await callsBeside(seen, () => send("GET", neighbour.repo, neighbour.token));
      expect(result.statuses).toEqual(served);
      expect(result.meanwhile).toBeLessThan(neighbourCalls * fairShare);
      expect([...seen.statuses.keys()]).toEqual([200]);
    });
  },
  { maxQueueDelay: 60_000 },
);

onEveryServer(
  "an overload by one organisation",
  (platform) => {
    test("has its calls refused, and none of another", async () => {
      const flooder = await floodingTenant(platform());
      const neighbour = await tenant(platform());
      const send = overHttp1(platform());
      expect((await send("GET", neighbour.repo, neighbour.token)).status).toBe(200);
      const seen = flood(() => send("GET", flooder.list, flooder.token));
      await expect.poll(() => seen.statuses.get(503) ?? 0).toBeGreaterThan(flooding);
      const result = await callsBeside(seen, () => send("GET", neighbour.repo, neighbour.token));
      expect(result.statuses).toEqual(served);
    });
  },
  { maxQueueDelay: 20 },
);
