/** When an identity was used last. */
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { identitySource } from "../../src/services/iam/auth/identity-source.ts";
import { identities } from "../../src/services/iam/identities.ts";
import { onEveryDatabase } from "./databases.ts";

onEveryDatabase("the last use of an identity", (database) => {
  test("is written at most once a minute, whichever server sees it", async () => {
    const db = await database().open();
    const organisation = newUid("");
    const uid = newUid(organisation);
    const content = contentOf(identities, create(IdentitySchema, { name: "ci" }));
    await db.transact((session) => session.insert(identities.table, newRow(uid, organisation, 0, content)));
    let nowMs = Date.UTC(2026, 10, 27);
    const startMs = nowMs;
    const source = () =>
      identitySource({ database: db, issuerUrl: "https://issuer", now: () => nowMs, report: expect.fail });
    const written = async () => {
      await db.transact(async (session) => void (await session.get(identities.table, uid))); // after the one before
      const row = await db.read.get(identities.table, uid);
      return Number(row?.columns.last_seen_us) / 1000 - startMs;
    };
    const [first, second] = [source(), source()];
    first.seen(uid);
    await expect.poll(written).toBe(0);
    nowMs += 59_999;
    second.seen(uid); // has not seen it yet, and reads that the first one has
    first.seen(uid);
    expect(await written()).toBe(0);
    nowMs += 1;
    first.seen(uid);
    await expect.poll(written).toBe(60_000);
    nowMs += 60_000;
    first.seen(newUid(organisation)); // there is none
    second.seen(uid);
    await expect.poll(written).toBe(120_000);
  });
});
