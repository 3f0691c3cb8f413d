/** The key of the secrets in a database is rotated, beside servers, in spite of interruptions, and may be lost. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { SubscriptionSchema } from "../../gen/platform/events/v2/subscriptions_pb.ts";
import { IdentityProviderSchema } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import { openSecrets, rotateSecrets } from "../../src/app/keys/secrets.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { secretPlace } from "../../src/services/events/signing-secret.ts";
import { subscriptions } from "../../src/services/events/subscriptions.ts";
import { identityProviders } from "../../src/services/iam/identity-providers.ts";
import { subscriptionSource } from "../../src/services/index.ts";
import { type Database, UnavailableError } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const count = 450; // more than two batches

const subscriptionUid = (i: number) => `g/${String(i).padStart(4, "0")}`;

/** A database with secrets under a key. */
async function fill(db: Database, secretKey: readonly (Buffer | "database")[]) {
  const secrets = await openSecrets(db, { secretKey });
  await db.transact(async (session) => {
    for (let i = 0; i < count; i++) {
      const uid = subscriptionUid(i);
      const signingSecret = secrets.seal(`whsec_${i}`, secretPlace(uid));
      const content = contentOf(
        subscriptions,
        create(SubscriptionSchema, { sink: "https://a.example", signingSecret }),
      );
      await session.insert(subscriptions.table, newRow(uid, "g", i, content));
    }
    const value = { issuer: "https://idp.example", clientSecret: secrets.seal("hidden", "g/provider client_secret") };
    const provider = create(IdentityProviderSchema, { configuration: { case: "oidc", value } });
    await session.insert(identityProviders.table, newRow("g/provider", "g", 1, contentOf(identityProviders, provider)));
  });
}

async function signingSecretOf(db: Database, i: number, secretKey: readonly Buffer[]) {
  const source = subscriptionSource({ database: db, secrets: await openSecrets(db, { secretKey }), now: Date.now });
  return (await source.get(subscriptionUid(i)))?.signingSecrets[0];
}

const rotate = (db: Database, secretKey: readonly Buffer[], discardsLost = false) =>
  rotateSecrets(db, { secretKey }, discardsLost, Date.now);

onEveryDatabase("the key of secrets", (database) => {
  test.each([
    ["a key of the setting", one],
    ["the database's own", "database"],
  ] as const)("is rotated from %s, and continues after an interruption", async (_, before) => {
    const db = await database().open();
    await fill(db, [before]);
    if (before === one)
      await expect(openSecrets(db, { secretKey: [two] })).rejects.toThrow("were encrypted with another key");
    let transactions = 0;
    const failing: Database = {
      ...db,
      async transact(body, options) {
        if (++transactions > 2) throw new UnavailableError("away", undefined);
        return db.transact(body, options);
      },
    };
    const keys = before === one ? [two, one] : [two];
    await expect(rotate(failing, keys)).rejects.toThrow("away");
    expect(await signingSecretOf(db, 0, keys)).toBe("whsec_0");
    expect(await signingSecretOf(db, count - 1, keys)).toBe(`whsec_${count - 1}`);
    const { kinds, isComplete } = await rotate(db, keys);
    expect(isComplete).toBe(true);
    expect(kinds.map(({ secrets }) => secrets)).toEqual([1, count, 0]);
    const resealed = kinds.reduce((sum, kind) => sum + kind.resealed, 0);
    expect(resealed).toBeGreaterThan(0);
    expect(resealed).toBeLessThan(count);
    for (const i of [0, 200, count - 1]) expect(await signingSecretOf(db, i, [two])).toBe(`whsec_${i}`);
    await expect(openSecrets(db, { secretKey: [one] })).rejects.toThrow("were encrypted with another key");
    expect(await rotate(db, [two])).toMatchObject({ isComplete: true, kinds: [{ resealed: 0 }, { resealed: 0 }, {}] });
  });

  test("is not taken for another one before the first rotation", async () => {
    const db = await database().open();
    await fill(db, [one]);
    await database().sql("delete from settings where name = 'secret_check'");
    await expect(openSecrets(db, { secretKey: [two] })).rejects.toThrow("were encrypted with another key");
    await openSecrets(db, { secretKey: [one] });
    await expect(openSecrets(db, { secretKey: [two] })).rejects.toThrow("were encrypted with another key");
  });

  test("may be lost: then what it sealed is discarded when told so", async () => {
    const db = await database().open();
    await fill(db, [one]);
    const { kinds, isComplete } = await rotate(db, [two]);
    expect([kinds.map(({ lost }) => lost), isComplete]).toEqual([[1, count, 0], false]);
    const discarded = await rotate(db, [two], true);
    expect(discarded.isComplete).toBe(true);
    expect(discarded.kinds[0]!.discarded).toEqual(["g/provider"]);
    expect(discarded.kinds[1]!.discarded).toHaveLength(count);
    expect(await signingSecretOf(db, 0, [two])).toBeUndefined(); // disabled
    await openSecrets(db, { secretKey: [two] });
  });
});
