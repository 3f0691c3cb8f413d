/** Subscriptions through the port: which addresses are accepted, and where the signing secret is to be seen. */
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../src/store/index.ts";
import type { Json } from "./contract.ts";
import { makeGroup, makeMember } from "./fixtures.ts";
import { onEveryServer as onEveryLiveServer } from "./live-server.ts";
import { fieldsOf } from "./outcome.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const sink = "https://receiver.invalid/events";

function create(platform: Platform, parent: string, address = sink): Promise<Json> {
  return platform.ok("CreateSubscription", { parent, subscription: { sink: address } });
}

onEveryServer("subscriptions", (platform) => {
  test("are made, read, listed and deleted", async () => {
    const { uid: group } = await makeGroup(platform());
    const { signingSecret, ...created } = await create(platform(), group);
    expect(created).toEqual({
      uid: expect.stringMatching(new RegExp(`^${group}/[0-9a-f]{16}$`)),
      sink,
      createTime: expect.any(String),
      updateTime: created.createTime,
      etag: expect.any(String),
    });
    const shown = { ...created, signingSecret: "" };
    expect(await platform().read("GetSubscription", { uid: created.uid })).toEqual(shown);
    const list = await platform().read("ListSubscriptions", { uidp: { childrenOf: group } });
    expect(list).toEqual({ subscriptions: [shown], totalCount: "1", skipped: 0 });
    expect(await platform().ok("DeleteSubscription", { uid: created.uid })).toEqual({});
    await platform().refused("GetSubscription", { uid: created.uid }, "NOT_FOUND");
    await platform().refused("DeleteSubscription", { uid: created.uid }, "NOT_FOUND");
  });

  test("keep a group from being deleted", async () => {
    const { uid: group } = await makeGroup(platform());
    const { uid } = await create(platform(), group);
    const { message } = await platform().refused("DeleteGroup", { uid: group }, "FAILED_PRECONDITION");
    expect(message).toBe("Precondition failed: cannot delete group with child subscriptions");
    await platform().ok("DeleteSubscription", { uid });
    await platform().ok("DeleteGroup", { uid: group });
  });

  test("cannot be made in a group that is not there", async () => {
    const subscription = { sink };
    const parent = `${platform().root}/0123456789abcdef`;
    await platform().refused("CreateSubscription", { parent, subscription }, "NOT_FOUND");
  });

  describe("have a sink that may be spoken to", () => {
    test.each([
      ["https://receiver.example.com"],
      ["https://receiver.example.com:8443/events?tenant=1"],
      ["https://93.184.216.34/events"],
      ["https://[2606:2800:220:1::1]/events"],
      [`https://receiver.example.com/${"x".repeat(2019)}`],
    ])("%s", async (address) => {
      const { uid: group } = await makeGroup(platform());
      expect((await create(platform(), group, address)).sink).toBe(address);
    });
  });

  describe("refuse a sink", () => {
    test.each([
      ["none at all", ""],
      ["that is not a URL", "receiver"],
      ["of another scheme", "ftp://receiver.example.com/"],
      ["in the clear", "http://receiver.example.com/"],
      ["in the clear, on loopback", "http://127.0.0.1:8090/"],
      ["with credentials", "https://user:secret@receiver.example.com/"],
      ["with a fragment", "https://receiver.example.com/#a"],
      ["that is too long", `https://receiver.example.com/${"x".repeat(2020)}`],
      ["with a space", "https://receiver.example.com/a b"],
      ["on this machine", "https://localhost/events"],
      ["on this machine, by a name below", "https://a.localhost/"],
      ["on loopback", "https://127.0.0.1/"],
      ["on loopback, short", "https://127.1/"],
      ["on loopback, in decimal", "https://2130706433/"],
      ["on loopback, in hex", "https://0x7f000001/"],
      ["on loopback, in octal", "https://0177.0.0.1/"],
      ["on loopback, in full-width digits", "https://１２７.0.0.1/"],
      ["on loopback, version 6", "https://[::1]/"],
      ["on loopback, mapped", "https://[::ffff:127.0.0.1]/"],
      ["on loopback, translated", "https://[64:ff9b::7f00:1]/"],
      ["nowhere", "https://0.0.0.0/"],
      ["in a private network", "https://10.0.0.1/"],
      ["in a private network, version 6", "https://[fd00::1]/"],
      ["on the link", "https://[fe80::1]/"],
      ["for metadata", "https://169.254.169.254/latest/meta-data"],
      ["for many", "https://224.0.0.1/"],
    ])("%s", async (_, address) => {
      const { uid: group } = await makeGroup(platform());
      const request = { parent: group, subscription: { sink: address } };
      const status = await platform().refused("CreateSubscription", request, "INVALID_ARGUMENT");
      expect(fieldsOf(status)).toEqual(["sink"]);
      expect(await platform().ok("ListSubscriptions", { uidp: { childrenOf: group } })).toMatchObject({
        totalCount: "0",
      });
    });
  });

  describe("show their signing secret", () => {
    test("once, and never the same", async () => {
      const { uid: group } = await makeGroup(platform());
      const secrets = [];
      for (let i = 0; i < 3; i++) secrets.push((await create(platform(), group)).signingSecret);
      for (const secret of secrets) {
        expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]+=*$/);
        expect(Buffer.from(secret.slice("whsec_".length), "base64").length).toBe(32);
      }
      expect(new Set(secrets).size).toBe(3);
    });

    test("again to whoever repeats the call with its key", async () => {
      const { uid: group } = await makeGroup(platform());
      const request = { parent: group, subscription: { sink } };
      const headers = { "idempotency-key": "subscribe-once" };
      const first = await platform().ok("CreateSubscription", request, { headers });
      expect(await platform().ok("CreateSubscription", request, { headers, over: "grpc" })).toMatchObject(first);
    });

    test("not what a client says it should be", async () => {
      const { uid: group } = await makeGroup(platform());
      const subscription = { sink, signingSecret: "whsec_AAAA", disableTime: "2026-01-01T00:00:00Z" };
      const created = await platform().ok("CreateSubscription", { parent: group, subscription });
      expect(created.signingSecret).not.toBe("whsec_AAAA");
      expect(created.disableTime).toBeUndefined();
    });

    test("to nobody who may only read", async () => {
      const { uid: group } = await makeGroup(platform());
      const { uid } = await create(platform(), group);
      const { token } = await makeMember(platform(), group, ["CAP_EVENTS_SUBSCRIPTION_LIST"]);
      expect((await platform().read("GetSubscription", { uid }, { as: token })).signingSecret).toBe("");
    });
  });
});

onEveryServer(
  "subscriptions on a machine of one's own",
  (platform) => {
    test.each([
      "http://localhost:8090/",
      "http://127.0.0.1:8090/events",
      "http://[::1]:8090",
      "https://localhost/events",
    ])("may have the sink %s", async (address) => {
      const { uid: group } = await makeGroup(platform());
      expect((await create(platform(), group, address)).sink).toBe(address);
    });

    test.each(["http://receiver.example.com/", "http://10.0.0.1/", "https://10.0.0.1/", "http://127.0.0.2.nip.io/"])(
      "may not have the sink %s",
      async (address) => {
        const { uid: group } = await makeGroup(platform());
        const request = { parent: group, subscription: { sink: address } };
        await platform().refused("CreateSubscription", request, "INVALID_ARGUMENT");
      },
    );
  },
  { allowLoopbackSinks: true },
);

onEveryLiveServer("the signing secret of a subscription", {}, (server) => {
  test("is sealed where it is kept, and in no other table", async () => {
    const { call, group, databaseUrl } = server();
    const { body } = await call("POST", `/events/v2/subscriptions/${await group()}`, { sink });
    const secret = body.signingSecret.slice("whsec_".length);
    const database = await openDatabase(databaseUrl);
    try {
      const row = await database.read.get({ name: "subscriptions", columns: {} }, body.uid);
      const stored = Buffer.from(row!.body).toString("latin1");
      expect(stored).toContain(sink);
      expect(stored).not.toContain(secret);
    } finally {
      await database.close();
    }
  });
});
