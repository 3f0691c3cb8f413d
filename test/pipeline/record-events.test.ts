/** The events of changes that no call has made: first sign-ins, and notifications of a registry. */
import { create, createRegistry } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";
import { IdentityProviderSchema } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import { readContract } from "../../src/contract/index.ts";
import { type Event, readEvents } from "../../src/delivery/index.ts";
import { newUid, userIdentityUid } from "../../src/new-uid.ts";
import { createEventRecorder } from "../../src/pipeline/record-events.ts";
import { contentOf } from "../../src/resource/index.ts";
import { identityProviders } from "../../src/services/iam/identity-providers.ts";
import { contractServices, providerSource } from "../../src/services/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { temporaryFolder } from "../cli/platform-process.ts";

const recorder = createEventRecorder({
  contract: readContract(contractServices),
  baseUrl: "https://platform.example.com",
  issuerUrl: "https://platform.example.com",
  registry: createRegistry(...contractServices.map(({ file }) => file)),
  hasSubscriptions: async () => true,
  quotas: {},
});

async function emptyDatabase() {
  const database = await openDatabase(`sqlite:${await temporaryFolder()}/platform.db`);
  onTestFinished(() => database.close());
  await database.migrate();
  const events = async (): Promise<Event[]> => {
    const waiting = await database
      .queue("deliveries")
      .entries("pending", { after: { timeUs: 0, id: "", partition: "" }, limit: 100 });
    return [
      ...(
        await readEvents(
          database.read,
          waiting.map(({ id }) => id),
        )
      ).values(),
    ];
  };
  return { database, events };
}

test("a first sign-in records the user and the binding, a second one nothing", async () => {
  const { database, events } = await emptyDatabase();
  const [organisation, nowMs] = [newUid(""), 1_800_000_000_000];
  const provider = newUid(organisation);
  const claims = { iss: "https://login.example.com", sub: "ann", aud: "client", exp: 1, name: "Ann" };
  await database.transact((session) =>
    session.insert(identityProviders.table, {
      uid: provider,
      parent: organisation,
      createTimeUs: 0,
      updateTimeUs: 0,
      ...contentOf(
        identityProviders,
        create(IdentityProviderSchema, {
          defaultRole: "r",
          configuration: { case: "oidc", value: { issuer: claims.iss, clientId: "client" } },
        }),
      ),
    }),
  );
  const source = providerSource({
    database,
    now: () => nowMs,
    record: (session, { identity, claims, changes }) =>
      recorder.recordChanges(session, changes, { subject: identity, claims }, nowMs),
    reserved: () => [],
    report: () => {},
  });
  const user = userIdentityUid(claims.iss, claims.sub);
  const providers = [{ uid: provider, clientId: "client", groupsClaim: "groups" }];
  for (let i = 0; i < 2; i++)
    expect(await source.signIn(providers, claims, { named: undefined, place: undefined, isNew: true })).toEqual({
      providers,
      isDeferred: false,
    });
  const recorded = await events();
  expect(recorded.map(({ type, extensions }) => [type, extensions.group]).sort()).toEqual([
    ["dev.platform.api.iam.identity.created.v1", "/"],
    ["dev.platform.api.iam.rolebindings.created.v1", organisation],
  ]);
  for (const { data, timeMs } of recorded) {
    expect(timeMs).toBe(nowMs);
    expect(JSON.parse(data).actor).toEqual({
      subject: user,
      act: { iss: claims.iss, sub: claims.sub, aud: claims.aud },
    });
  }
});

test("what a registry reports twice is recorded once, under its own id", async () => {
  const { database, events } = await emptyDatabase();
  const repoUid = newUid(newUid(newUid("")));
  const event = {
    type: "dev.platform.registry.push.v1",
    source: "registry.example.com",
    id: "3f0e4a51-8a43-4b8a-9c1d-9e776b1f8a52",
    timeMs: 1_800_000_000_000,
    repoUid,
    attributes: { digest: "sha256:00", mediatype: "application/json", image: "registry.example.com/a@sha256:00" },
    body: { repository: "a" },
  } as const;
  for (let i = 0; i < 2; i++) await database.transact((session) => recorder.recordRegistryEvent(session, event));
  expect(await events()).toEqual([
    {
      id: event.id,
      timeMs: event.timeMs,
      type: event.type,
      source: event.source,
      subject: repoUid,
      extensions: { group: repoUid.split("/")[0], ...event.attributes },
      data: '{"body":{"repository":"a"}}',
    },
  ]);
});
