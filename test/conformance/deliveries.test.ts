/** Deliveries as the owners of a subscription see and steer them, with a receiver on this machine. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/store/index.ts";
import type { Json } from "./contract.ts";
import { type EventSink, jsonOf, startSink } from "./event-sink.ts";
import { expectedEvents } from "./expected-events.ts";
import { freshUid, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { fieldsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

const repoCreated = "dev.platform.api.platform.registry.repo.created.v1";

onEveryServer(
  "deliveries",
  (platform) => {
    let sink: EventSink;
    /** The status that the receiver answers on a path; 204 unless it is set. */
    const statuses = new Map<string, number>();

    beforeAll(async () => {
      sink = await startSink(({ path }, response) => {
        const status = statuses.get(path) ?? 204;
        response.writeHead(status).end("the receiver's own words");
      });
    });
    afterAll(() => sink?.close());

    /** A subscription of a new group, to a path of its own that answers `status`. */
    async function subscribe(status = 204) {
      const { uid: group } = await makeGroup(platform());
      const path = `/${randomUUID()}`;
      statuses.set(path, status);
      const subscription = { sink: sink.url(path) };
      const { uid, signingSecret } = await platform().ok("CreateSubscription", { parent: group, subscription });
      return { group, path, uid, signingSecret };
    }

    const list = (request: Json) => platform().ok("ListDeliveries", request);

    /** The deliveries of a subscription, once there are `count` and all meet a condition. */
    async function settled(subscription: string, count: number, state = "STATE_DELIVERED"): Promise<Json[]> {
      const read = async () => (await list({ subscription, state })).deliveries;
      await expect.poll(read, { interval: 20 }).toHaveLength(count);
      return read();
    }

    /** Makes the only due delivery of a paused subscription a failed one. */
    async function giveUp(subscription: string, eventId: string): Promise<void> {
      const database = await openDatabase(platform().databaseUrl);
      try {
        const queue = database.queue("deliveries");
        const nowUs = Date.now() * 1000;
        const lease = { partition: subscription, nowUs, untilUs: nowUs + 60_000_000, limit: 9 };
        const leased = await queue.lease(lease);
        expect(leased.map(({ id }) => id)).toEqual([eventId]);
        await queue.settle(leased.map((entry) => ({ ...entry, leaseUs: entry.dueUs, state: "dead" })));
      } finally {
        await database.close();
      }
    }

    describe("are listed", () => {
      test("with what became of each, over every protocol", async () => {
        const { group, uid } = await subscribe();
        const repo = await makeRepo(platform(), group);
        const [delivery] = await settled(uid, 1);
        expect(delivery).toEqual({
          subscription: uid,
          eventId: expect.stringMatching(/^[0-9a-f-]{36}$/),
          type: repoCreated,
          source: `${platform().baseUrl}/registry/v2/repos`,
          subject: repo.uid,
          eventTime: repo.createTime,
          state: "STATE_DELIVERED",
          attempts: [
            {
              time: expect.stringMatching(/Z$/),
              duration: expect.stringMatching(/^[\d.]+s$/),
              statusCode: 204,
              error: "",
            },
          ],
        });
        expect(await platform().read("ListDeliveries", { subscription: uid })).toEqual({
          deliveries: [delivery],
          totalCount: "1",
          estimated: false,
          skipped: 0,
        });
        const { eventId } = delivery!;
        expect(await platform().read("GetDelivery", { subscription: uid, eventId })).toEqual(delivery);
      });

      test("with the status of a receiver that refuses, and nothing else of what it says", async () => {
        const { group, uid } = await subscribe(500);
        await makeRepo(platform(), group);
        const attempted = async () => (await list({ subscription: uid })).deliveries[0]?.attempts.length;
        await expect.poll(attempted, { interval: 20 }).toBeGreaterThan(0);
        const [delivery] = (await list({ subscription: uid })).deliveries;
        expect(delivery).toMatchObject({ state: "STATE_PENDING", nextAttemptTime: expect.any(String) });
        expect(delivery.attempts[0]).toMatchObject({ statusCode: 500, error: "" });
        expect(JSON.stringify(delivery)).not.toContain("own words");
        const { eventId } = delivery;
        for (const over of protocols) {
          const read = await platform().ok("GetDelivery", { subscription: uid, eventId }, { over });
          expect(read).toMatchObject({ state: "STATE_PENDING", nextAttemptTime: expect.stringMatching(/\.\d{3}Z$/) });
        }
      });

      test("with the reason why there was no response", async () => {
        const { uid: group } = await makeGroup(platform());
        const subscription = { sink: "https://receiver.invalid/" };
        const { uid } = await platform().ok("CreateSubscription", { parent: group, subscription });
        await platform().ok("SendTestEvent", { subscription: uid });
        const first = async () => (await list({ subscription: uid })).deliveries[0].attempts[0];
        await expect.poll(first, { interval: 20 }).toMatchObject({ statusCode: 0, error: "dns" });
      });

      test("newest first, in pages, by state, type and time", async () => {
        const { group, uid } = await subscribe();
        const repos: Json[] = [];
        for (let i = 0; i < 3; i++) repos.push(await makeRepo(platform(), group));
        await platform().ok("UpdateRepo", { repo: { uid: repos[0]!.uid, description: "changed" } });
        const all = await settled(uid, 4);
        const times = all.map(({ eventTime }) => eventTime);
        expect(times).toEqual(times.toSorted().toReversed());
        const paged: Json[] = [];
        let pageToken: string | undefined = "";
        while (pageToken !== undefined) {
          const page: Json = await platform().read("ListDeliveries", { subscription: uid, pageSize: 3, pageToken });
          expect(page.totalCount).toBe("4");
          paged.push(...page.deliveries);
          pageToken = page.nextPageToken;
        }
        expect(paged).toEqual(all);
        const found = async (filter: Json) =>
          (await list({ subscription: uid, ...filter })).deliveries.map(({ subject }: Json) => subject).length;
        expect(await found({ state: "STATE_FAILED" })).toBe(0);
        expect(await found({ type: repoCreated })).toBe(3);
        expect(await found({ type: "dev.platform.api.platform.registry.*" })).toBe(4);
        expect(await found({ type: "dev.platform.api.iam.*" })).toBe(0);
        expect((await list({ subscription: uid, type: repoCreated, pageSize: 1 })).deliveries).toHaveLength(1);
        expect(await found({ startTime: times[0] })).toBeGreaterThan(0);
        expect(await found({ endTime: times.at(-1) })).toBe(0);
        expect(await found({ startTime: "0001-01-01T00:00:00Z", endTime: "9999-12-31T23:59:59Z" })).toBe(4);
        const { nextPageToken } = await list({ subscription: uid, pageSize: 1 });
        const other = { subscription: uid, state: "STATE_FAILED", pageToken: nextPageToken };
        expect(fieldsOf(await platform().refused("ListDeliveries", other, "INVALID_ARGUMENT"))).toEqual(["page_token"]);
      });

      test.each([
        [{ state: "STATE_UNSPECIFIED" }, "state"],
        [{ type: "" }, "type"],
        [{ type: "dev.*.created" }, "type"],
        [{ pageSize: -1 }, "page_size"],
      ])("and not by %j", async (filter, field) => {
        const { uid } = await subscribe();
        const request = { subscription: uid, ...filter };
        expect(fieldsOf(await platform().refused("ListDeliveries", request, "INVALID_ARGUMENT"))).toEqual([field]);
      });
    });

    test("are for those who may read the subscription, and steered by those who may change it", async () => {
      const { group, uid } = await subscribe();
      const { eventId } = await platform().ok("SendTestEvent", { subscription: uid });
      const viewer = await makeMember(platform(), group, "viewer");
      const editor = await makeMember(platform(), group, "editor");
      const other = await makeMember(platform(), (await makeGroup(platform())).uid, "owner");
      const delivery = { subscription: uid, eventId };
      expect(await platform().read("GetDelivery", delivery, { as: viewer.token })).toMatchObject(delivery);
      for (const [method, request] of [
        ["ReplayDelivery", delivery],
        ["SendTestEvent", { subscription: uid }],
      ] as const) {
        await platform().refused(method, request, "PERMISSION_DENIED", { as: viewer.token });
        await platform().ok(method, request, { as: editor.token });
      }
      for (const method of ["ListDeliveries", "GetDelivery", "ReplayDelivery", "SendTestEvent"]) {
        const request = { subscription: uid, ...(/Test|List/.test(method) ? {} : { eventId }) };
        await platform().refused(method, request, "PERMISSION_DENIED", { as: other.token });
        const missing = { ...request, subscription: `${group}/0123456789abcdef` };
        await platform().refused(method, missing, "NOT_FOUND");
      }
      const { uid: second } = await platform().ok("CreateSubscription", {
        parent: group,
        subscription: { sink: sink.url("/second") },
      });
      for (const method of ["GetDelivery", "ReplayDelivery"]) {
        await platform().refused(method, { subscription: second, eventId }, "NOT_FOUND");
        await platform().refused(method, { subscription: uid, eventId: freshUid() }, "NOT_FOUND");
      }
    });

    describe("are replayed", () => {
      test.each(protocols)("over %s, with the same id", async (over) => {
        const { group, path, uid } = await subscribe();
        await makeRepo(platform(), group);
        const [delivery] = await settled(uid, 1);
        const { eventId } = delivery!;
        const request = { subscription: uid, eventId };
        const validated = await platform().ok("ReplayDelivery", { ...request, validateOnly: true }, { over });
        expect(validated).toMatchObject({ eventId, state: "STATE_PENDING" });
        expect(await platform().ok("GetDelivery", request)).toEqual(delivery);
        const replayed = await platform().ok("ReplayDelivery", request, { over });
        expect(replayed).toMatchObject({ eventId, state: "STATE_PENDING", attempts: delivery!.attempts });
        await expect.poll(() => sink.at(path)).toHaveLength(2);
        expect(new Set(sink.at(path).map(({ headers }) => headers["ce-id"]))).toEqual(new Set([eventId]));
        const [again] = await settled(uid, 1);
        expect(again!.attempts).toHaveLength(2);
      });
    });

    test("that failed are replayed by the time of their events", async () => {
      const { path, uid } = await subscribe();
      await platform().ok("PauseSubscription", { uid });
      const eventTimes: string[] = [];
      for (let i = 0; i < 3; i++) {
        const { eventId, eventTime } = await platform().ok("SendTestEvent", { subscription: uid });
        eventTimes.push(eventTime);
        await giveUp(uid, eventId);
        await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(eventTime)); // the next one has another time
      }
      const failed = async () => (await list({ subscription: uid, state: "STATE_FAILED" })).totalCount;
      expect(await failed()).toBe("3");
      const replay = (request: Json) => platform().ok("ReplayFailedDeliveries", { subscription: uid, ...request });
      expect(await replay({ validateOnly: true })).toEqual({ replayedCount: 3, hasMore: false });
      expect(await replay({ endTime: eventTimes[0] })).toEqual({ replayedCount: 0, hasMore: false });
      expect(await failed()).toBe("3");
      const [, startTime, endTime] = eventTimes;
      expect(await replay({ startTime, endTime })).toEqual({ replayedCount: 1, hasMore: false });
      expect(await failed()).toBe("2");
      expect(await replay({})).toEqual({ replayedCount: 2, hasMore: false });
      await platform().ok("ResumeSubscription", { uid });
      await settled(uid, 3);
      expect(sink.at(path)).toHaveLength(3);
    });

    describe("of test events", () => {
      test.each(protocols)("go over %s to the one subscription, whatever else is subscribed", async (over) => {
        const { group, path, uid } = await subscribe();
        const subscription = { sink: sink.url(`${path}/other`) };
        await platform().ok("CreateSubscription", { parent: group, subscription });
        const checked = await platform().ok("SendTestEvent", { subscription: uid, validateOnly: true }, { over });
        const sent = await platform().ok("SendTestEvent", { subscription: uid }, { over });
        expect(sent).toMatchObject({
          subscription: uid,
          type: "dev.platform.api.delivery.test.v1",
          source: `${platform().baseUrl}/delivery/v1/deliveries`,
          subject: uid,
          state: "STATE_PENDING",
          attempts: [],
        });
        const delivery = async () => (await list({ subscription: uid, type: sent.type })).deliveries;
        await expect.poll(delivery).toMatchObject([{ eventId: sent.eventId, state: "STATE_DELIVERED" }]);
        expect(checked.eventId).not.toBe(sent.eventId);
        const [event] = sink.at(path).filter(({ headers }) => headers["ce-type"] === sent.type);
        expect(event!.headers).toMatchObject({
          "ce-type": "dev.platform.api.delivery.test.v1",
          "ce-id": sent.eventId,
          "ce-subject": uid,
          "ce-group": group,
          "ce-bodytype": "platform.delivery.v1.SendTestEventRequest",
        });
        expect(jsonOf(event!)).toMatchObject({
          actor: { subject: platform().administrator },
          body: { subscription: uid },
        });
        await makeRepo(platform(), group);
        await expect.poll(() => sink.at(`${path}/other`)).not.toHaveLength(0);
        expect(sink.at(`${path}/other`).map(({ headers }) => headers["ce-type"])).not.toContain(sent.type);
      });
    });

    test("are of types that every caller may list", async () => {
      const { token } = await makeMember(platform(), (await makeGroup(platform())).uid, ["CAP_VERSION_LIST"]);
      const { eventTypes } = await platform().read("ListEventTypes", {}, { as: token });
      const types = eventTypes.map(({ type }: Json) => type);
      expect(types).toEqual([...new Set(types)].sort());
      expect(eventTypes).toContainEqual({
        type: "dev.platform.api.iam.group.deleted.v1",
        bodyTypes: ["platform.iam.v2.DeleteGroupRequest"],
        extensions: ["group"],
        audience: "customer",
        methods: ["platform.iam.v1.Groups/Delete", "platform.iam.v2.GroupsService/DeleteGroup"],
      });
      const bodiesOf = (name: string) =>
        eventTypes.find(({ type }: Json) => type === `dev.platform.api.${name}.v1`).bodyTypes;
      expect(bodiesOf("platform.registry.repo.updated")).toEqual([
        "platform.registry.v2.Repo",
        "platform.registry.v2.RepoReadme",
      ]);
      expect(bodiesOf("platform.registry.tag.updated")).toEqual(["platform.registry.v2.Tag"]);
      expect(bodiesOf("vulnerabilities.advisory.fixed")).toEqual(["platform.vulnerabilities.v2.Advisory"]);
      expect(bodiesOf("delivery.settings.updated")).toEqual(["platform.delivery.v1.DeliverySettings"]);
      for (const { type } of Object.values(expectedEvents)) expect(types).toContain(`dev.platform.api.${type}.v1`);
    });

    test("of a subscription whose receiver is gone are neither replayed nor made", async () => {
      const { path, uid } = await subscribe(410);
      const { eventId } = await platform().ok("SendTestEvent", { subscription: uid });
      await settled(uid, 1, "STATE_FAILED");
      const disabled = async () => (await platform().ok("GetSubscription", { uid })).disableTime;
      await expect.poll(disabled, { interval: 20 }).toBeDefined();
      await platform().refused("ReplayDelivery", { subscription: uid, eventId }, "FAILED_PRECONDITION");
      await platform().refused("SendTestEvent", { subscription: uid }, "FAILED_PRECONDITION");
      expect(sink.at(path)).toHaveLength(1);
    });
  },
  { allowLoopbackSinks: true },
);
