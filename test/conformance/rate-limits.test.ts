/** Rate limits: of a caller by what its calls do, and of an address before its token is verified. */
import { once } from "node:events";
import { connect } from "node:http2";
import { describe, expect, test } from "vitest";
import { makeGroup, makeMember } from "./fixtures.ts";
import { codes, type Outcome } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";
import { testWorkers } from "./worker-server.ts";

const burst = 6;
const slow = { perSecond: 1e-3, burst };
/** The administrator needs some to make what the tests use. */
const manyWrites = 100;

function expectRefusal(outcome: Outcome, policy: string): void {
  if (outcome.ok) throw new Error("the call was not refused");
  const { code, message, details } = outcome.status;
  expect(code, message).toBe(codes.RESOURCE_EXHAUSTED);
  expect(message).toBe(`Resource exhausted: too many requests (${policy})`);
  expect(details[0]).toMatchObject({ reason: "RESOURCE_EXHAUSTED" });
  expect(details[1]).toMatchObject({ "@type": "type.googleapis.com/google.rpc.RetryInfo" });
}

/** Makes calls one after another and returns how many succeed before the first that does not. */
async function countOk(call: () => Promise<Outcome>): Promise<[number, Outcome]> {
  for (let count = 0; ; count++) {
    const outcome = await call();
    if (!outcome.ok) return [count, outcome];
  }
}

if (testWorkers > 1) console.warn("rate limits are tested with one process: each has its own");
const onServers =
  testWorkers > 1 ? () => describe.skip("rate limits, skipped: each process has its own") : onEveryServer;

onServers(
  "a server with limits for callers",
  (platform) => {
    const newCaller = async (): Promise<{ uid: string; as: string }> => {
      const { uid } = await makeGroup(platform());
      const { token: as } = await makeMember(platform(), uid, ["CAP_IAM_GROUPS_LIST", "CAP_IAM_GROUPS_UPDATE"]);
      return { uid, as };
    };

    test.each(protocols)("refuses the reads of one caller over %s when it has made too many", async (over) => {
      const { uid, as } = await newCaller();
      const [count, refused] = await countOk(() => platform().call("GetGroup", { uid }, { as, over }));
      expect(count).toBe(burst);
      expectRefusal(refused, "read");
      expect((await platform().call("ListGroups", {}, { as, over })).ok, "lists have a limit of their own").toBe(true);
      for (const other of protocols)
        expectRefusal(await platform().call("GetGroup", { uid }, { as, over: other }), "read");
      expect((await platform().call("GetGroup", { uid })).ok, "another caller is not refused").toBe(true);
    });

    test("counts writes and lists, those of v1 once", async () => {
      const { uid, as } = await newCaller();
      const update = { group: { uid, description: "x" }, updateMask: "description" };
      const [writes, refusedWrite] = await countOk(() => platform().call("UpdateGroup", update, { as }));
      expect(writes).toBe(manyWrites);
      expectRefusal(refusedWrite, "write");
      const [lists, refusedList] = await countOk(() => platform().call("v1.Groups.List", { id: uid }, { as }));
      expect(lists).toBe(burst);
      expectRefusal(refusedList, "list");
    });

    test("says in header fields when to try again", async () => {
      const { uid, as } = await newCaller();
      await countOk(() => platform().call("GetGroup", { uid }, { as }));
      const answer = await platform().fetch(`/iam/v2/groups/${encodeURIComponent(uid)}`, {
        headers: { authorization: `Bearer ${as}` },
      });
      expect(answer.status).toBe(429);
      const seconds = Number(answer.headers.get("retry-after"));
      expect(seconds).toBeGreaterThan(0);
      expect(answer.headers.get("ratelimit")).toBe(`"read";r=0;t=${seconds}`);
      expect(answer.headers.get("ratelimit-policy")).toBe(`"read";q=${burst};w=${burst / slow.perSecond}`);
    });
  },
  { rateLimitRead: slow, rateLimitList: slow, rateLimitWrite: { ...slow, burst: manyWrites } },
);

/** The status of a GET with a token that nobody knows. */
async function statusOverHttp2(baseUrl: string, path: string): Promise<number | undefined> {
  const session = connect(baseUrl);
  try {
    const stream = session.request({ ":path": path, authorization: "Bearer x" });
    const [headers] = await once(stream, "response");
    return headers[":status"];
  } finally {
    session.destroy();
  }
}

onServers(
  "a server with limits for addresses",
  (platform) => {
    test("refuses tokens that it does not know, before they are verified, and serves those that it knows", async () => {
      const { uid } = await makeGroup(platform());
      const [known, unknown] = [
        await platform().token(platform().administrator),
        await platform().token(platform().administrator),
      ];
      expect((await platform().call("GetGroup", { uid }, { as: known })).ok).toBe(true);
      const anonymous = async (): Promise<Outcome> => {
        const outcome = await platform().call("GetGroup", { uid }, { as: null });
        return !outcome.ok && outcome.status.code === codes.UNAUTHENTICATED
          ? ({ ...outcome, ok: true } as never)
          : outcome;
      };
      const [count, refused] = await countOk(anonymous);
      expect(count).toBeGreaterThan(0);
      expectRefusal(refused, "address");
      for (const over of protocols) {
        expectRefusal(await platform().call("GetGroup", { uid }, { as: "unknown", over }), "address");
        expectRefusal(await platform().call("GetGroup", { uid }, { as: unknown, over }), "address");
        expect((await platform().call("GetGroup", { uid }, { as: known, over })).ok).toBe(true);
      }
      for (const path of ["/livez", "/readyz"]) expect((await fetch(platform().baseUrl + path)).status).toBe(200);
      expect((await fetch(`${platform().baseUrl}/.well-known/jwks.json`)).status).toBe(429);
    });

    test("refuses token exchanges", async () => {
      const exchange = () =>
        fetch(`${platform().baseUrl}/sts/exchange?aud=x`, { headers: { authorization: "Bearer x" } });
      const statuses: number[] = [];
      while (statuses.at(-1) !== 429) statuses.push((await exchange()).status);
      expect(statuses.length).toBe(burst + 1);
      expect(await statusOverHttp2(platform().baseUrl, "/sts/exchange?aud=x")).toBe(429);
    });
  },
  { rateLimitAddress: { ...slow, burst: 40 }, rateLimitExchange: slow },
);
