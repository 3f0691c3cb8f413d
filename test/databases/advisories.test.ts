/** Storing what feeds say of vulnerabilities: again and again, and nothing more than what is new. */
import { clone, create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { beforeEach, expect, test } from "vitest";
import {
  DocumentSchema,
  Severity_Type,
  VulnerabilityMetadataSchema,
} from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { GroupSchema } from "../../gen/platform/iam/v2/groups_pb.ts";
import { type Advisory, AdvisorySchema, ReviewState } from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf } from "../../src/resource/index.ts";
import { severitiesOf } from "../../src/services/advisory/severities.ts";
import { groups } from "../../src/services/iam/groups.ts";
import {
  pruneAdvisories,
  pruneDocuments,
  pruneVulnerabilityMetadata,
  saveAdvisories,
  saveDocument,
  saveVulnerabilityMetadata,
} from "../../src/services/index.ts";
import type { Database } from "../../src/store/index.ts";
import { bytesOf, unpack } from "../../src/store/rows/packed.ts";
import { onEveryDatabase } from "./databases.ts";

const nowMs = Date.UTC(2026, 10, 5);
const nothing = { added: 0, changed: 0, unchanged: 0 };

function advisory(advisoryId: string, more: MessageInitShape<typeof AdvisorySchema> = {}): Advisory {
  return create(AdvisorySchema, {
    advisoryId,
    author: "feed",
    artifactName: "openssl",
    artifactType: "apk",
    artifactArchitecture: "all",
    componentName: "openssl",
    componentLocation: "/",
    componentType: "apk",
    ...more,
  });
}

function fixedAt(timeMs: number | undefined, fixedVersion: string) {
  return {
    author: "feed",
    reviewState: ReviewState.APPROVED,
    type: { case: "fixed", value: { fixedVersion } } as const,
    ...(timeMs !== undefined && { createTime: timestampFromMs(timeMs) }),
  };
}

onEveryDatabase("what feeds say", (database) => {
  let db: Database;
  let group: string;
  let other: string;
  beforeEach(async () => {
    db = await database().open();
    [group, other] = [newUid(""), newUid("")];
    const content = contentOf(groups, create(GroupSchema, { name: "group" }));
    await db.transact(async (session) => {
      for (const uid of [group, other])
        await session.insert(groups.table, { uid, parent: "", createTimeUs: 0, updateTimeUs: 0, ...content });
    });
  });

  /** Saves copies, as another run reads them anew. */
  const save = (
    advisories: readonly Advisory[],
    more: { feed?: string; in?: string; at?: number; onRow?: (uid: string) => void } = {},
  ) =>
    db.transact((session) =>
      saveAdvisories(session, {
        feed: more.feed ?? "feed",
        group: more.in ?? group,
        advisories: advisories.map((each) => clone(AdvisorySchema, each)),
        nowMs: more.at ?? nowMs,
        onRow: more.onRow,
      }),
    );
  /** Saves these advisories, and removes all others of the feed. Returns how many. */
  const saveAll = async (advisories: readonly Advisory[]) => {
    const rows = new Set<string>();
    await save(advisories, { onRow: (uid) => rows.add(uid) });
    let removed = 0;
    for (let after: string | undefined; ; ) {
      const request = { feed: "feed", group, nowMs, after };
      const portion = await db.transact((session) => pruneAdvisories(session, request, (_, uid) => rows.has(uid)));
      removed += portion.removed;
      if (portion.next === undefined) return removed;
      after = portion.next;
    }
  };
  const stored = () =>
    database().sql("select uid, version, create_time_us, update_time_us from advisories order by uid");

  test("advisories are added once, changed where they differ, and keep their uids", async () => {
    const first = [advisory("A"), advisory("B", { aliases: ["CVE-1"] }), advisory("C")];
    expect(await save(first)).toEqual({ ...nothing, added: 3 });
    const before = await stored();
    expect(await save(first.toReversed(), { at: nowMs + 1000 })).toEqual({ ...nothing, unchanged: 3 });
    expect(await stored()).toEqual(before);
    const second = [advisory("A"), advisory("B", { aliases: ["CVE-1", "CVE-2"] }), advisory("D")];
    expect(await save(second, { at: nowMs + 1000 })).toEqual({ ...nothing, added: 1, changed: 1, unchanged: 1 });
    const after = await stored();
    expect(after).toHaveLength(4);
    expect(after.filter(({ uid }) => before.some((row) => row.uid === uid))).toHaveLength(3);
    const changed = after.filter(({ version }) => Number(version) === 2);
    expect(changed.map((row) => [Number(row.create_time_us), Number(row.update_time_us)])).toEqual([
      [nowMs * 1000, (nowMs + 1000) * 1000],
    ]);
  });

  test("groups and artifacts have advisories of their own", async () => {
    await save([advisory("A")]);
    expect(await save([advisory("A")], { in: other })).toEqual({ ...nothing, added: 1 });
    expect(await save([advisory("A", { artifactName: "zlib" })])).toEqual({ ...nothing, added: 1 });
    expect(new Set((await stored()).map(({ uid }) => uid)).size).toBe(3);
  });

  test("advisories that are gone stay, unless they are pruned", async () => {
    await save([advisory("A"), advisory("B")]);
    await save([advisory("A")], { in: other });
    await save([advisory("A", { artifactName: "openssl3" })]);
    expect(await save([advisory("B")])).toEqual({ ...nothing, unchanged: 1 });
    expect(await saveAll([advisory("B")])).toBe(2);
    expect(await saveAll([])).toBe(1);
    expect(await stored()).toHaveLength(1);
  });

  test("many advisories of one artifact are pruned", async () => {
    await save(Array.from({ length: 450 }, (_, i) => advisory(`A-${i}`)));
    expect(await saveAll([advisory("A-7")])).toBe(449);
    expect(await stored()).toHaveLength(1);
  });

  test("advisories of artifacts that are gone are pruned, a portion at a time", async () => {
    for (const artifactName of ["zlib", "curl", "x".repeat(200)])
      await save(Array.from({ length: 150 }, (_, i) => advisory(`A-${i}`, { artifactName })));
    await save([advisory("A")], { in: other });
    const removed: number[] = [];
    for (let after: string | undefined; ; ) {
      const request = { feed: "feed", group, nowMs, after };
      const portion = await db.transact((session) => pruneAdvisories(session, request, (name) => name === "zlib"));
      removed.push(portion.removed);
      if (portion.next === undefined) break;
      after = portion.next;
    }
    expect(removed).toHaveLength(3);
    expect(removed.reduce((a, b) => a + b)).toBe(300);
    expect(await stored()).toHaveLength(151);
  });

  test("events keep their uids when others come before them or their text changes", async () => {
    const eventsNow = async () => {
      const [row] = await database().sql("select packed from advisories");
      const { events } = fromBinary(AdvisorySchema, unpack(bytesOf(row!.packed)).body);
      return events.map(({ uid, type }) => [uid, type.case === "fixed" && type.value.fixedVersion]);
    };
    await save([advisory("A", { events: [fixedAt(20, "2"), fixedAt(20, "3"), fixedAt(undefined, "0")] })]);
    const [two, three, zero] = await eventsNow();
    expect(new Set([two![0], three![0], zero![0]]).size).toBe(3);
    const events = [fixedAt(10, "1"), fixedAt(20, "2.1"), fixedAt(20, "3"), fixedAt(undefined, "0")];
    expect(await save([advisory("A", { events })])).toEqual({ ...nothing, changed: 1 });
    const [moved, same, one, last] = await eventsNow();
    expect([moved, same, last]).toEqual([[two![0], "2.1"], three, zero]);
    expect(one![0]).toMatch(new RegExp(`^${group}/[0-9a-f]{16}/[0-9a-f]{16}$`));
  });

  test("of an artifact with a wrong advisory nothing is stored", async () => {
    const events = Array.from({ length: 1001 }, (_, i) => fixedAt(i, "1"));
    await expect(save([advisory("A"), advisory("B", { events })])).rejects.toThrow(/events/);
    await expect(save([advisory("A"), advisory("B", { aliases: ["CVE\0"] })])).rejects.toThrow(/aliases/);
    await expect(save([advisory("A"), advisory("B", { componentName: "" })])).rejects.toThrow(/component_name/);
    await expect(save([advisory("A")], { in: newUid("") })).rejects.toThrow(/does not exist/);
    expect(await stored()).toEqual([]);
  });

  test("a document is one for a package, and another run changes nothing", async () => {
    const document = (fixedVersion: string) =>
      create(DocumentSchema, {
        id: "openssl",
        advisories: [{ id: "A", aliases: ["CVE-1"], events: [{ data: { case: "fixed", value: { fixedVersion } } }] }],
      });
    const run = (fixedVersion: string) =>
      db.transact((session) => saveDocument(session, { feed: "feed", document: document(fixedVersion), nowMs }));
    expect([await run("1"), await run("1"), await run("2"), await run("2")]).toEqual([
      "added",
      "unchanged",
      "changed",
      "unchanged",
    ]);
    await db.transact((session) =>
      saveDocument(session, { feed: "feed", document: create(DocumentSchema, { id: "zlib" }), nowMs }),
    );
    const portion = await db.transact((session) =>
      pruneDocuments(session, { feed: "feed", nowMs }, (id) => id === "zlib"),
    );
    expect(portion).toEqual({ removed: 1, next: undefined });
    expect(await database().sql("select id from documents")).toEqual([{ id: "zlib" }]);
  });

  test("metadata is stored by its id", async () => {
    const run = (id: string, summary: string) =>
      db.transact((session) =>
        saveVulnerabilityMetadata(session, create(VulnerabilityMetadataSchema, { id, summary }), nowMs),
      );
    expect([await run("A", "1"), await run("A", "1"), await run("A", "2"), await run("B", "1")]).toEqual([
      "added",
      "unchanged",
      "changed",
      "added",
    ]);
    await db.transact((session) => pruneVulnerabilityMetadata(session, (id) => id === "B"));
    expect(await database().sql("select id from vulnerability_metadata")).toEqual([{ id: "B" }]);
  });

  test("severities are found for many at once, through ids and aliases, whoever names them", async () => {
    const rating = (score: string) => ({ type: Severity_Type.CVSS_V3, score });
    await db.transact(async (session) => {
      for (let i = 0; i < 1200; i++) {
        const metadata = { id: `PYSEC-${i}`, aliases: [`CVE-${i}`, "SHARED"], severities: [rating(`score ${i % 3}`)] };
        await saveVulnerabilityMetadata(session, create(VulnerabilityMetadataSchema, metadata), nowMs);
      }
    });
    const severities = await severitiesOf(db.read, [
      ["CVE-7"],
      ["else", "PYSEC-7", "CVE-7"],
      ["CVE-1", "CVE-2"],
      ["SHARED"],
      ["else"],
      [],
    ]);
    expect(severities.map((each) => each.map(({ score }) => score))).toEqual([
      ["score 1"],
      ["score 1"],
      ["score 1", "score 2"],
      ["score 0", "score 1", "score 2"],
      [],
      [],
    ]);
    expect(await severitiesOf(db.read, [])).toEqual([]);
  });
});
