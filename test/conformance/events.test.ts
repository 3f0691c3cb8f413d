/**
 * What a method emits: for every method of the contract that is annotated with an event, the call is made over REST and
 * over gRPC, and exactly the event that `expected-events.ts` says arrives at a subscription of the group, verifiably
 * from us.
 */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type DescMethod, type DescMethodUnary, fromJson, getOption, hasOption } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Event_Audience, events as eventOption } from "../../gen/platform/annotations/annotations_pb.ts";
import { createVerifier } from "../../src/cli/events/verify.ts";
import { type Json, methods, methodsOfV1 } from "./contract.ts";
import { type EventSink, jsonOf, type Received, shortType, startSink } from "./event-sink.ts";
import { type Call, type ExpectedEvent, expectedEvents } from "./expected-events.ts";
import {
  digestOf,
  freshName,
  makeGroup,
  makeIdentity,
  makeMember,
  makeRepo,
  makeRole,
  makeTag,
  makeUser,
} from "./fixtures.ts";
import { expectFixtures, methodFixtures } from "./method-fixtures.ts";
import { onEveryServer, type Platform } from "./platform.ts";

/** What is uploaded in pieces has tests of its own: uploads.test.ts. */
const emitting = [...methods.values()].filter(
  (method: DescMethod) =>
    method.methodKind === "unary" &&
    hasOption(method, eventOption) &&
    getOption(method, eventOption).audience === Event_Audience.CUSTOMER,
);

const described = emitting.filter(
  ({ name }) => expectedEvents[name] !== undefined && methodFixtures[name] !== undefined,
);

test("every method with an event has an expectation", () => {
  const names = emitting.map(({ name }) => name);
  expectFixtures(names);
  const missing = names.filter((name) => expectedEvents[name] === undefined);
  expect(missing, "say in test/conformance/expected-events.ts what each of these emits").toEqual([]);
  expect(
    Object.keys(expectedEvents).filter((name) => !names.includes(name)),
    "these emit nothing",
  ).toEqual([]);
});

onEveryServer(
  "events",
  (platform) => {
    let sink: EventSink;
    /** How many deliveries there must be of each subscription, at the end. */
    const expectedCounts = new Map<Subscribed, number>();
    beforeAll(async () => {
      sink = await startSink();
    });
    afterAll(() => sink?.close());

    /** Subscribes a path to a group. */
    async function subscribe(group: string): Promise<Subscribed> {
      const path = `/${randomUUID()}`;
      await setTimeout(2); // what was done in the group so far is over, and older
      const subscription = { sink: sink.url(path) };
      const created = await platform().ok("CreateSubscription", { parent: group, subscription });
      return { path, group, createTime: created.createTime, signingSecret: created.signingSecret };
    }

    /**
     * What has arrived at a path of what happened after the subscription was made. It may receive what was not older
     * than clocks differ.
     */
    function at({ path, createTime }: Subscribed): readonly Received[] {
      return sink.at(path).filter(({ headers }) => String(headers["ce-time"]) >= createTime);
    }

    /** As {@link at}, once there is so much; more must not come until the end of the suite. */
    async function arrived(subscribed: Subscribed, count: number): Promise<readonly Received[]> {
      await expect.poll(() => at(subscribed).length, { interval: 20 }).toBeGreaterThanOrEqual(count);
      expectedCounts.set(subscribed, count);
      expect(at(subscribed).map(shortType)).toHaveLength(count);
      return at(subscribed);
    }

    /** The types of what `work` emits in `group`, in the order of their names. */
    async function typesOf(group: string, work: () => Promise<unknown>): Promise<string[]> {
      const subscribed = await subscribe(group);
      await work();
      await platform().ok("CreateRole", { parent: group, role: { name: "marker", capabilities: ["CAP_REPO_LIST"] } });
      const isMarker = (event: Received) => jsonOf(event).body?.name === "marker";
      await expect.poll(() => at(subscribed).some(isMarker), { interval: 20 }).toBe(true);
      await setTimeout(200); // events come in any order: what comes after the marker has its time too
      const events = at(subscribed);
      expectedCounts.set(subscribed, events.length);
      return events
        .filter((event) => !isMarker(event))
        .map(shortType)
        .sort();
    }

    describe.each(["rest", "grpc"] as const)("over %s", (over) => {
      test.each(described.map(({ name }) => name))("%s", async (name) => {
        const expected = expectedEvents[name]!;
        const fixture = methodFixtures[name]!;
        const { uid: group } = await makeGroup(platform(), fixture.isOfOrganisations ? "" : platform().root);
        const request = await fixture.request(platform(), group);
        const subscribed = await subscribe(group);
        const answer = await platform().ok(name, request, { over });
        const [event] = await arrived(subscribed, 1);
        await expectEvent(platform(), methods.get(name)!, event!, subscribed, { request, answer }, expected);
      });
    });

    describe("of v1 are those of v2", () => {
      const ofV1 = [...methodsOfV1].filter(
        ([name, method]) => hasOption(method, eventOption) && methodFixtures[name]?.fails === undefined,
      );

      test.each(ofV1)("%s", async (name, method) => {
        const fixture = methodFixtures[name]!;
        const { uid: group } = await makeGroup(platform(), fixture.isOfOrganisations ? "" : platform().root);
        const request = await fixture.request(platform(), group);
        const subscribed = await subscribe(group);
        const answer = await platform().ok(name, request);
        const [event] = await arrived(subscribed, 1);
        const { type } = getOption(method, eventOption);
        expect(event!.headers["ce-type"]).toBe(type);
        const isOfV1Alone = /UpdateTag|Scim/.test(name);
        expect(event!.headers["ce-bodytype"]).toMatch(/Scim/.test(name) ? /\.v1\./ : /^platform\.[a-z]+\.v2\./);
        expect(event!.headers["ce-source"]).toMatch(isOfV1Alone ? /\/v1\// : /\/v2\//);
        expect(JSON.stringify(jsonOf(event!))).not.toContain("pscim_");
        const { id, group: ofGroup, identityProviderId, parent, parentId } = { ...request, ...answer };
        const about = id ?? ofGroup ?? identityProviderId ?? parent ?? parentId;
        expect(event!.headers["ce-subject"]).toBe(about);
      });
    });

    describe("what goes with something else has an event of its own", () => {
      test("the owner's binding of a new root group, which nobody can have subscribed to", async () => {
        const { uid } = await makeGroup(platform(), "");
        expect(await typesOf(uid, async () => {})).toEqual([]);
      });

      test("bindings, invites, association and terms of a deleted group", async () => {
        const { uid: parent } = await makeGroup(platform());
        const { uid } = await makeGroup(platform(), parent);
        const { uid: identity } = await makeIdentity(platform(), parent);
        const { uid: roleUid } = await makeRole(platform(), parent, ["CAP_REPO_LIST"]);
        await platform().ok("CreateRoleBinding", { parent: uid, roleBinding: { identityUid: identity, roleUid } });
        await platform().ok("CreateGroupInvite", { parent: uid, groupInvite: { roleUid, ttl: "3600s" } });
        const accountAssociation = { name: "a", amazon: { account: "123456789012" } };
        await platform().ok("CreateAccountAssociation", { parent: uid, accountAssociation });
        await platform().ok("AcceptTerms", { group: uid, documentIds: ["registry-tos.v1"] });
        expect(await typesOf(parent, () => platform().ok("DeleteGroup", { uid }))).toEqual([
          "iam.account_associations.deleted",
          "iam.group.deleted",
          "iam.group_invite.deleted",
          "iam.rolebindings.deleted",
        ]);
      });

      test("bindings of a deleted identity", async () => {
        const { uid: group } = await makeGroup(platform());
        const { uid } = await makeMember(platform(), group, ["CAP_REPO_LIST"]);
        expect(await typesOf(group, () => platform().ok("DeleteIdentity", { uid }))).toEqual([
          "iam.identity.deleted",
          "iam.rolebindings.deleted",
        ]);
      });

      test("service bindings of a deleted identity: their association is changed", async () => {
        const { uid: parent } = await makeGroup(platform());
        const { uid } = await makeIdentity(platform(), parent);
        const accountAssociation = { name: "a", platform: { serviceBindings: { INGESTER: uid } } };
        await platform().ok("CreateAccountAssociation", { parent, accountAssociation });
        expect(await typesOf(parent, () => platform().ok("DeleteIdentity", { uid }))).toEqual([
          "iam.account_associations.updated",
          "iam.identity.deleted",
        ]);
      });

      test("tags of a repo that is deleted by force", async () => {
        const { uid: group } = await makeGroup(platform());
        const { uid } = await makeRepo(platform(), group);
        for (let i = 0; i < 3; i++) await makeTag(platform(), uid);
        expect(await typesOf(group, () => platform().ok("DeleteRepo", { uid, force: true }))).toEqual([
          "platform.registry.repo.deleted",
          "platform.registry.tag.deleted",
          "platform.registry.tag.deleted",
          "platform.registry.tag.deleted",
        ]);
      });

      test("mappings of a deleted identity provider", async () => {
        const { uid: group } = await makeGroup(platform(), "");
        const { uid: roleUid } = await makeRole(platform(), group, ["CAP_REPO_LIST"]);
        const oidc = { issuer: "https://issuer.example.com", clientId: freshName(), clientSecret: "secret" };
        const identityProvider = { name: freshName(), defaultRole: roleUid, oidc };
        const { uid } = await platform().ok("CreateIdentityProvider", { parent: group, identityProvider });
        const externalGroupRoleMapping = { externalGroupId: "g", roleUid };
        await platform().ok("CreateExternalGroupRoleMapping", { parent: uid, externalGroupRoleMapping });
        expect(await typesOf(group, () => platform().ok("DeleteIdentityProvider", { uid }))).toEqual([
          "iam.external_group_role_mappings.deleted",
          "iam.identity_providers.deleted",
        ]);
      });

      test("an invite that can be accepted once", async () => {
        const { uid: group } = await makeGroup(platform());
        const { uid: roleUid } = await makeRole(platform(), group, ["CAP_REPO_LIST"]);
        const groupInvite = { roleUid, ttl: "3600s", singleUse: true };
        const { code } = await platform().ok("CreateGroupInvite", { parent: group, groupInvite });
        expect(await typesOf(group, () => platform().ok("AcceptGroupInvite", { code }))).toEqual([
          "iam.group_invite.deleted",
          "iam.rolebindings.created",
        ]);
      });
    });

    test.each(["CreateRoleBinding", "BatchCreateRoleBindings"])(
      "%s tells subscribers the identities of their group, of others the uid",
      async (method) => {
        const { uid: group } = await makeGroup(platform());
        const { uid: roleUid } = await makeRole(platform(), group, ["CAP_REPO_LIST"]);
        const own = await makeIdentity(platform(), group);
        const others = [await makeUser(platform()), await makeIdentity(platform(), platform().root)];
        const subscribed = await subscribe(group);
        const uids = [own, ...others].map(({ uid }) => uid);
        const roleBindings = uids.map((identityUid) => ({ identityUid, roleUid }));
        if (method === "CreateRoleBinding")
          for (const roleBinding of roleBindings) await platform().ok(method, { parent: group, roleBinding });
        else
          await platform().ok(method, {
            parent: group,
            requests: roleBindings.map((roleBinding) => ({ roleBinding })),
          });
        const events = await arrived(subscribed, method === "CreateRoleBinding" ? uids.length : 1);
        const told = events.flatMap((event) => {
          const { body } = jsonOf(event);
          return (body.roleBindings ?? [body]).map(({ identity }: Json) => identity);
        });
        const { issuer, subject } = own.claimMatch;
        const nothing = { name: "", description: "", subject: "", issuer: "", email: "" };
        expect(told).toHaveLength(uids.length);
        expect(told).toEqual(
          expect.arrayContaining([
            { ...nothing, uid: own.uid, name: own.name, issuer, subject },
            ...others.map(({ uid }) => ({ ...nothing, uid })),
          ]),
        );
      },
    );

    describe("a call that changes nothing emits nothing:", () => {
      const calls: [string, (platform: Platform, group: string) => Promise<() => Promise<unknown>>][] = [
        [
          "an update to what is so already",
          async (p, group) => {
            const { uid, name } = await makeRepo(p, group);
            return () => p.ok("UpdateRepo", { repo: { uid, name } });
          },
        ],
        [
          "a readme to what is so already",
          async (p, group) => {
            const { uid } = await makeRepo(p, group);
            await p.ok("UpdateRepoReadme", { repoReadme: { uid, content: "a" } });
            return () => p.ok("UpdateRepoReadme", { repoReadme: { uid, content: "a" } });
          },
        ],
        [
          "a tag set to where it is",
          async (p, group) => {
            const { uid } = await makeRepo(p, group);
            const tag = { name: "latest", digest: digestOf(1) };
            await p.ok("CreateTag", { parent: uid, tag });
            return () => p.ok("CreateTag", { parent: uid, tag });
          },
        ],
        [
          "terms accepted again",
          async (p, group) => {
            await p.ok("AcceptTerms", { group, documentIds: ["registry-tos.v1"] });
            return () => p.ok("AcceptTerms", { group, documentIds: ["registry-tos.v1"] });
          },
        ],
        [
          "an invite accepted again",
          async (p, group) => {
            const { uid: roleUid } = await makeRole(p, group, ["CAP_REPO_LIST"]);
            const { code } = await p.ok("CreateGroupInvite", { parent: group, groupInvite: { roleUid, ttl: "3600s" } });
            await p.ok("AcceptGroupInvite", { code });
            return () => p.ok("AcceptGroupInvite", { code });
          },
        ],
        [
          "a call that is only checked",
          async (p, group) => async () => {
            await p.ok("CreateRepo", { parent: group, repo: { name: freshName() }, validateOnly: true });
            await p.ok("DeleteGroup", { uid: group, validateOnly: true }).catch(() => {});
          },
        ],
        [
          "a call that fails",
          async (p, group) => async () => {
            const { ok } = await p.call("CreateRepo", { parent: group, repo: { name: "NO" } });
            expect(ok).toBe(false);
          },
        ],
        ["a call that only reads", async (p, group) => () => p.ok("GetGroup", { uid: group })],
      ];
      test.each(calls)("%s", async (_, prepare) => {
        const { uid: group } = await makeGroup(platform());
        const work = await prepare(platform(), group);
        expect(await typesOf(group, work)).toEqual([]);
      });

      test("a create that is given its answer again", async () => {
        const { uid: group } = await makeGroup(platform());
        const headers = { "idempotency-key": randomUUID() };
        const create = () => platform().ok("CreateRepo", { parent: group, repo: { name: "a" } }, { headers });
        expect(await typesOf(group, async () => [await create(), await create()])).toEqual([
          "platform.registry.repo.created",
        ]);
      });
    });

    test("a tag that moves has the event of its method", async () => {
      const { uid: group } = await makeGroup(platform());
      const { uid: parent } = await makeRepo(platform(), group);
      await platform().ok("CreateTag", { parent, tag: { name: "latest", digest: digestOf(1) } });
      const move = () => platform().ok("CreateTag", { parent, tag: { name: "latest", digest: digestOf(2) } });
      expect(await typesOf(group, move)).toEqual(["platform.registry.tag.created"]);
    });

    test("events go to the group that holds the resource and to those above it, to no other", async () => {
      const { uid: above } = await makeGroup(platform());
      const { uid: group } = await makeGroup(platform(), above);
      const { uid: beside } = await makeGroup(platform(), above);
      const { uid: below } = await makeGroup(platform(), group);
      const subscriptions: Subscribed[] = [];
      for (const place of [above, group, beside, below]) subscriptions.push(await subscribe(place));
      const repo = await makeRepo(platform(), group);
      const created = (subscribed: Subscribed) =>
        at(subscribed).filter((event) => event.headers["ce-subject"] === repo.uid);
      await expect.poll(() => subscriptions.map((one) => created(one).length)).toEqual([1, 1, 0, 0]);
      const ids = subscriptions.slice(0, 2).map((one) => created(one)[0]!.headers["ce-id"]);
      expect(ids[0]).toBe(ids[1]);
    });

    test("the actor is who called, by whatever token", async () => {
      const { uid: group } = await makeGroup(platform());
      const member = await makeMember(platform(), group, "owner");
      const subscribed = await subscribe(group);
      await platform().ok("CreateRepo", { parent: group, repo: { name: "a" } }, { as: member.token });
      const [event] = await arrived(subscribed, 1);
      const { actor } = jsonOf(event!);
      expect(actor.subject).toBe(member.uid);
      expect(actor.act).toMatchObject({ iss: platform().baseUrl, sub: member.uid, aud: platform().baseUrl });
      expect(event!.body.toString()).not.toContain(member.token);
    });

    test("after all of this, nothing else has come", async () => {
      await setTimeout(500);
      const surplus = [...expectedCounts].filter(([subscribed, count]) => at(subscribed).length !== count);
      expect(surplus.map(([subscribed]) => at(subscribed).map(shortType))).toEqual([]);
      const ids = sink.received.map(({ path, headers }) => `${path} ${headers["ce-id"]}`);
      expect(new Set(ids).size).toBe(ids.length);
    });
  },
  { allowLoopbackSinks: true },
);

interface Subscribed {
  readonly path: string;
  readonly group: string;
  readonly createTime: string;
  readonly signingSecret: string;
}

async function expectEvent(
  platform: Platform,
  method: DescMethodUnary,
  { headers, body }: Received,
  { group, signingSecret }: Subscribed,
  call: Call,
  expected: ExpectedEvent,
): Promise<void> {
  const subject = expected.subject(call);
  const schema = /^Delete/.test(method.name) ? method.input : method.output;
  expect(headers).toMatchObject({
    "ce-id": expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    "ce-specversion": "1.0",
    "ce-type": `dev.platform.api.${expected.type}.v1`,
    "ce-source": `${platform.baseUrl}${expected.source}`,
    "ce-subject": subject,
    "ce-time": expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z$/),
    "ce-group": expected.group(subject) || "/",
    "ce-audience": "customer",
    "ce-bodytype": schema.typeName,
    "content-type": "application/json",
  });
  expect(headers["ce-identityprovider"]).toBe(expected.identityProvider?.(subject));
  const { actor, body: said, ...rest } = JSON.parse(body.toString("utf8"));
  expect(rest).toEqual({});
  expect(actor).toMatchObject({ subject: platform.administrator, act: { sub: platform.administrator } });
  const meant: Json = expected.body === undefined ? call.answer : expected.body(call);
  if (meant === null) expect(said).toBeNull();
  else expect(fromJson(schema, said)).toEqual(fromJson(schema, meant));
  const verify = createVerifier({ issuer: platform.baseUrl, group, secret: signingSecret, now: Date.now });
  expect(await verify({ headers, body })).toMatchObject({ status: 200, signature: { outcome: "verified" } });
}
