/** Delivery settings: paused subscriptions, rotated secrets and filters, as a receiver on this machine notices them. */
import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningServer, startServer } from "../../src/app/index.ts";
import { createVerifier } from "../../src/cli/events/verify.ts";
import { readConfig } from "../../src/config/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { type Json, methodNamed } from "./contract.ts";
import { type EventSink, type Received, shortType, startSink } from "./event-sink.ts";
import { freshName, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { fieldsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";
import { callOverRest } from "./rest-client.ts";

const subjectOf = ({ headers }: Received) => String(headers["ce-subject"]);

onEveryServer(
  "delivery settings",
  (platform) => {
    let sink: EventSink;
    /** Another server on the same database. */
    let second: RunningServer;
    const errors: string[] = [];

    beforeAll(async () => {
      sink = await startSink((_received, response) => response.writeHead(204).end());
      const log = pino({ level: "error", base: null }, { write: (line: string) => void errors.push(line) });
      const flags = { listen: "127.0.0.1:0", adminListen: "off", database: platform().databaseUrl, logLevel: "error" };
      const config = readConfig({ flags, env: {}, warn: () => {} });
      second = await startServer({ ...config, allowLoopbackSinks: true }, log);
    });
    afterAll(async () => {
      await second?.stop();
      await sink?.close();
      expect(errors).toEqual([]);
    });

    /** A subscription of a new group, to a path of its own. */
    async function subscribe() {
      const { uid: group } = await makeGroup(platform());
      const path = `/${randomUUID()}`;
      const subscription = { sink: sink.url(path) };
      const { uid, signingSecret } = await platform().ok("CreateSubscription", { parent: group, subscription });
      return { group, path, uid, signingSecret: String(signingSecret) };
    }

    /** Calls the other server. */
    async function atSecond(method: string, request: Json): Promise<Json> {
      const headers = { authorization: `Bearer ${platform().admin}` };
      const outcome = await callOverRest(second.baseUrl, methodNamed(method), request, headers);
      if (!outcome.ok) throw new Error(JSON.stringify(outcome.status));
      return outcome.message;
    }

    const update = (uid: string, change: Json) =>
      platform().ok("UpdateDeliverySettings", { deliverySettings: { uid, ...change } });

    test("are those of every subscription, and change with it", async () => {
      const { uid } = await subscribe();
      const { createTime } = await platform().ok("GetSubscription", { uid });
      const first = {
        uid,
        eventTypes: [],
        createTime,
        updateTime: createTime,
        etag: expect.any(String),
        signingSecret: "",
      };
      expect(await platform().read("GetDeliverySettings", { uid })).toEqual(first);
      const changed = await update(uid, { eventTypes: ["a.*", "b.v1", "a.*"] });
      expect(changed).toMatchObject({ uid, eventTypes: ["a.*", "b.v1"], createTime });
      expect(await platform().read("GetDeliverySettings", { uid })).toEqual(changed);
      const stale = { deliverySettings: { uid, eventTypes: [], etag: "stale" } };
      await platform().refused("UpdateDeliverySettings", stale, "ABORTED");
      const cleared = { deliverySettings: { uid }, updateMask: "eventTypes" };
      expect(await platform().ok("UpdateDeliverySettings", cleared)).toMatchObject({ eventTypes: [] });
      await platform().ok("DeleteSubscription", { uid });
      await platform().refused("GetDeliverySettings", { uid }, "NOT_FOUND");
    });

    test.each(["", "a b", "a*b", "*a", "x".repeat(201)])("refuse the type %j", async (type) => {
      const { uid } = await subscribe();
      const request = { deliverySettings: { uid, eventTypes: [type] } };
      const status = await platform().refused("UpdateDeliverySettings", request, "INVALID_ARGUMENT");
      expect(fieldsOf(status)).toEqual(["event_types[0]"]);
    });

    test("are read by who may read the subscription, and changed by who may change it", async () => {
      const { group, uid } = await subscribe();
      const viewer = await makeMember(platform(), group, "viewer");
      const other = await makeMember(platform(), (await makeGroup(platform())).uid, "owner");
      await platform().read("GetDeliverySettings", { uid }, { as: viewer.token });
      await platform().refused("GetDeliverySettings", { uid }, "PERMISSION_DENIED", { as: other.token });
      for (const method of ["PauseSubscription", "ResumeSubscription", "RotateSigningSecret"]) {
        await platform().refused(method, { uid }, "PERMISSION_DENIED", { as: viewer.token });
        await platform().refused(method, { uid: `${group}/0123456789abcdef` }, "NOT_FOUND");
      }
    });

    test("filter what happens from then on, and no test events", async () => {
      const { group, path, uid } = await subscribe();
      const { uid: all } = await platform().ok("CreateSubscription", {
        parent: group,
        subscription: { sink: sink.url(`${path}/all`) },
      });
      await update(uid, { eventTypes: ["dev.platform.api.platform.registry.repo.created.v1"] });
      await atSecond("UpdateDeliverySettings", {
        deliverySettings: { uid: all, eventTypes: ["dev.platform.api.platform.registry.*"] },
      });
      const repo = await makeRepo(platform(), group);
      await platform().ok("UpdateRepo", { repo: { uid: repo.uid, description: "changed" } });
      await platform().ok("SendTestEvent", { subscription: uid });
      const typesAt = (at: string) =>
        sink
          .at(at)
          .map(({ headers }) => String(headers["ce-type"]).replace("dev.platform.api.", ""))
          .filter((type) => !/^(?:events\.subscription|delivery\.settings)/.test(type)) // of before
          .sort();
      await expect
        .poll(() => typesAt(`${path}/all`))
        .toEqual(["platform.registry.repo.created.v1", "platform.registry.repo.updated.v1"]);
      await expect.poll(() => typesAt(path)).toEqual(["delivery.test.v1", "platform.registry.repo.created.v1"]);
    });

    describe("pause a subscription", () => {
      test("at one server, which the other heeds; resumed, it gets what waited in its order", async () => {
        const { group, path, uid } = await subscribe();
        const paused = await platform().ok("PauseSubscription", { uid });
        expect(paused.pauseTime).toEqual(expect.any(String));
        expect((await atSecond("PauseSubscription", { uid })).pauseTime).toBe(paused.pauseTime);
        const repos: string[] = [];
        for (let i = 0; i < 40; i++) {
          const request = { parent: group, repo: { name: freshName() } };
          const made = i % 2 === 0 ? await platform().ok("CreateRepo", request) : await atSecond("CreateRepo", request);
          repos.push(made.uid);
        }
        const waiting = { subscription: uid, state: "STATE_PENDING" };
        const count = async () => (await platform().ok("ListDeliveries", waiting)).totalCount;
        await expect.poll(count, { interval: 50 }).toBe(String(repos.length));
        await platform().ok("SendTestEvent", { subscription: uid });
        const { deliveries } = await platform().ok("ListDeliveries", waiting);
        expect(deliveries.flatMap(({ attempts }: Json) => attempts)).toEqual([]);
        expect(sink.at(path)).toEqual([]);
        const resumed = await atSecond("ResumeSubscription", { uid });
        expect(resumed.pauseTime).toBeUndefined();
        expect(resumed.resumeTime > paused.pauseTime).toBe(true);
        await expect.poll(() => sink.at(path).length, { interval: 50 }).toBe(repos.length + 1);
        const times = sink.at(path).map(({ headers }) => String(headers["ce-time"]));
        expect(times).toEqual(times.toSorted());
        expect(new Set(sink.at(path).map(subjectOf))).toEqual(new Set([...repos, uid]));
      });

      test.each(protocols)("over %s, and change nothing when it is so already or only checked", async (over) => {
        const { uid } = await subscribe();
        const first = await platform().ok("GetDeliverySettings", { uid });
        await platform().ok("PauseSubscription", { uid, validateOnly: true }, { over });
        await platform().ok("ResumeSubscription", { uid }, { over });
        expect(await platform().ok("GetDeliverySettings", { uid })).toEqual(first);
        const paused = await platform().ok("PauseSubscription", { uid }, { over });
        expect(await platform().ok("PauseSubscription", { uid }, { over })).toEqual(paused);
        const resumed = await platform().ok("ResumeSubscription", { uid }, { over });
        expect(await platform().ok("ResumeSubscription", { uid }, { over })).toEqual(resumed);
      });
    });

    describe("rotate the signing secret", () => {
      const signaturesOf = ({ headers }: Received) => String(headers["webhook-signature"]).split(" ");

      /** Sends a test event and returns it as it arrives. */
      async function testEvent(subscription: string, path: string): Promise<Received> {
        const { eventId } = await platform().ok("SendTestEvent", { subscription });
        const found = () => sink.at(path).find(({ headers }) => headers["ce-id"] === eventId);
        await expect.poll(found, { interval: 20 }).toBeDefined();
        return found()!;
      }

      async function isVerified(received: Received, group: string, secret: string): Promise<boolean> {
        const verify = createVerifier({ issuer: platform().baseUrl, group, secret, now: Date.now });
        return (await verify(received)).signature.outcome === "verified";
      }

      test.each(protocols)("over %s: both sign for a while, and the new one is shown once", async (over) => {
        const { group, path, uid, signingSecret: former } = await subscribe();
        const { signingSecret: secret, ...rotated } = await platform().ok("RotateSigningSecret", { uid }, { over });
        expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
        expect(secret).not.toBe(former);
        const remaining = Date.parse(rotated.formerSecretExpireTime) - Date.now();
        expect(remaining).toBeGreaterThan(23 * 3_600_000);
        expect(await platform().ok("GetDeliverySettings", { uid })).toEqual({ ...rotated, signingSecret: "" });
        expect((await platform().ok("GetSubscription", { uid })).signingSecret).toBe("");
        const event = await testEvent(uid, path);
        expect(signaturesOf(event)).toHaveLength(2);
        expect([await isVerified(event, group, former), await isVerified(event, group, secret)]).toEqual([true, true]);
        const { signingSecret: third } = await atSecond("RotateSigningSecret", { uid, overlap: "0s" });
        await expect.poll(async () => signaturesOf(await testEvent(uid, path)).length).toBe(1);
        const last = await testEvent(uid, path);
        expect([await isVerified(last, group, secret), await isVerified(last, group, third)]).toEqual([false, true]);
      });

      test("for no longer than a week", async () => {
        const { uid } = await subscribe();
        for (const overlap of ["604801s", "-1s"]) {
          const status = await platform().refused("RotateSigningSecret", { uid, overlap }, "INVALID_ARGUMENT");
          expect(fieldsOf(status)).toEqual(["overlap"]);
        }
      });

      test("until the overlap ends", async () => {
        const { path, uid } = await subscribe();
        await platform().ok("RotateSigningSecret", { uid, overlap: "1s" });
        await expect.poll(async () => signaturesOf(await testEvent(uid, path)).length, { interval: 100 }).toBe(1);
      });

      test("and keep it sealed, out of events and audit records", async () => {
        const { group, uid, signingSecret } = await subscribe();
        const [path, type] = [`/${randomUUID()}`, "delivery.settings.updated"];
        await platform().ok("CreateSubscription", { parent: group, subscription: { sink: sink.url(path) } });
        const { signingSecret: secret } = await platform().ok("RotateSigningSecret", { uid });
        const updated = () => sink.at(path).find((event) => subjectOf(event) === uid && shortType(event) === type);
        await expect.poll(updated, { interval: 20 }).toBeDefined();
        const { records } = await platform().ok("ListAuditRecords", { scope: uid, method: "RotateSigningSecret" });
        expect(records).toHaveLength(1);
        const database = await openDatabase(platform().databaseUrl);
        try {
          const row = await database.read.get({ name: "subscriptions", columns: {} }, uid);
          const stored = Buffer.from(row!.body).toString("latin1");
          for (const text of [stored, updated()!.body.toString(), JSON.stringify(records)])
            for (const known of [secret, signingSecret]) expect(text).not.toContain(known.slice("whsec_".length));
        } finally {
          await database.close();
        }
      });
    });
  },
  { allowLoopbackSinks: true },
);
