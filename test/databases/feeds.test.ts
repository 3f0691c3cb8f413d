/** What several feeds say of the same packages: each keeps its own, and what is answered is merged. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { beforeEach, expect, test } from "vitest";
import { type Document, DocumentSchema } from "../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { GroupSchema } from "../../gen/platform/iam/v2/groups_pb.ts";
import {
  type Advisory,
  AdvisorySchema,
  EventTypeFilter,
  ReviewState,
} from "../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf, defaultFeed, messageOf } from "../../src/resource/index.ts";
import { documents } from "../../src/services/advisory/documents.ts";
import { groups } from "../../src/services/iam/groups.ts";
import {
  pruneAdvisories,
  pruneDocuments,
  refreshDerivedRows,
  saveAdvisories,
  saveDocument,
  writeFeedOrder,
} from "../../src/services/index.ts";
import { advisories } from "../../src/services/vulnerabilities/advisories.ts";
import { latestEventTerm } from "../../src/services/vulnerabilities/advisory-terms.ts";
import type { Database } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const nowMs = Date.UTC(2026, 10, 5);
const unchanged = { added: 0, changed: 0, unchanged: 1 };

/** Events as `[time, type, what]`; a fix, or a false positive for an unknown reason with a note. */
type Said = readonly [timeMs: number | undefined, what: string];

function documentOf(id: string, events: readonly Said[], more: MessageInitShape<typeof DocumentSchema> = {}): Document {
  const said = events.map(([timeMs, what]) => ({
    ...(timeMs !== undefined && { timestamp: timestampFromMs(timeMs) }),
    data: dataOf(what),
  }));
  return create(DocumentSchema, { id, advisories: [{ id: "A", aliases: ["CVE-1"], events: said }], ...more });
}

function advisoryOf(events: readonly Said[], more: MessageInitShape<typeof AdvisorySchema> = {}): Advisory {
  return create(AdvisorySchema, {
    advisoryId: "A",
    author: "feed",
    artifactName: "openssl",
    artifactType: "apk",
    artifactArchitecture: "all",
    componentName: "openssl",
    componentLocation: "/",
    componentType: "apk",
    events: events.map(([timeMs, what]) => ({
      author: "feed",
      reviewState: ReviewState.APPROVED,
      ...(timeMs !== undefined && { createTime: timestampFromMs(timeMs) }),
      type: dataOf(what),
    })),
    ...more,
  });
}

function dataOf(what: string) {
  return what.startsWith("v")
    ? ({ case: "fixed", value: { fixedVersion: what } } as const)
    : ({ case: "truePositiveDetermination", value: { note: what } } as const);
}

function saidOf(data: { readonly case?: string | undefined; readonly value?: unknown }): string {
  const { fixedVersion, note } = data.value as { fixedVersion?: string; note?: string };
  return fixedVersion ?? note ?? "";
}

onEveryDatabase("feeds", (database) => {
  let db: Database;
  let group: string;
  beforeEach(async () => {
    db = await database().open();
    group = newUid("");
    const content = contentOf(groups, create(GroupSchema, { name: "group" }));
    await db.transact((session) =>
      session.insert(groups.table, { uid: group, parent: "", createTimeUs: 0, updateTimeUs: 0, ...content }),
    );
  });

  /** Imports a document and an advisory that say the same. */
  const save = (feed: string, events: readonly Said[], at = nowMs, more: { aliases?: string[] } = {}) =>
    db.transact(async (session) => {
      const aliases = more.aliases ?? ["CVE-1"];
      const document = documentOf("openssl", events);
      document.advisories[0]!.aliases = aliases;
      const request = { feed, group, nowMs: at };
      const saved = await saveAdvisories(session, { ...request, advisories: [advisoryOf(events, { aliases })] });
      return [saved, await saveDocument(session, { feed, document, nowMs: at })];
    });
  const rowsOf = (table: typeof documents.table) => db.read.list(table, { orderBy: [], skip: 0, limit: 100 });
  /** The events that are answered, the same in documents and advisories. */
  const answered = async (): Promise<Said[]> => {
    const [documentRow] = await rowsOf(documents.table);
    const [advisoryRow] = await rowsOf(advisories.table);
    if (documentRow === undefined || advisoryRow === undefined) {
      expect([documentRow, advisoryRow]).toEqual([undefined, undefined]);
      return [];
    }
    const ofDocument = messageOf(documents, documentRow).advisories[0]!.events.map(
      ({ timestamp, data }): Said => [timestamp && timestampMs(timestamp), saidOf(data)],
    );
    const ofAdvisory = messageOf(advisories, advisoryRow).events.map(
      ({ createTime, type }): Said => [createTime && timestampMs(createTime), saidOf(type)],
    );
    expect(ofAdvisory).toEqual(ofDocument);
    return ofDocument;
  };
  const versions = async () =>
    (await database().sql("select version from documents union all select version from advisories")).map(
      ({ version }) => Number(version),
    );
  /** Saves these advisories, and removes all others of the feed. */
  const saveAll = async (feed: string, messages: readonly Advisory[]) => {
    const rows = new Set<string>();
    const onRow = (uid: string) => void rows.add(uid);
    const request = { feed, group, nowMs };
    const saved = await db.transact((session) => saveAdvisories(session, { ...request, advisories: messages, onRow }));
    let removed = 0;
    let after: string | undefined;
    do {
      const portion = await db.transact((session) =>
        pruneAdvisories(session, { ...request, after }, (_, uid) => rows.has(uid)),
      );
      removed += portion.removed;
      after = portion.next;
    } while (after !== undefined);
    return [saved, removed];
  };
  const prune = (feed: string, isKept: (name: string) => boolean) =>
    db.transact(async (session) => {
      const { removed } = await pruneAdvisories(session, { feed, group, nowMs }, isKept);
      return [removed, (await pruneDocuments(session, { feed, nowMs }, isKept)).removed];
    });

  test("events of several feeds come together, newest first; of one event the feed first by name is believed", async () => {
    await save("b", [
      [10, "v1"],
      [30, "b at 30"],
      [undefined, "v0"],
    ]);
    await save("a", [
      [20, "a at 20"],
      [30, "a at 30"],
      [30, "v3"],
      [undefined, "v0"],
      [undefined, "v00"],
    ]);
    expect(await answered()).toEqual([
      [30, "a at 30"],
      [30, "v3"],
      [20, "a at 20"],
      [10, "v1"],
      [undefined, "v0"],
      [undefined, "v00"],
    ]);
  });

  test("several events of one type and time stay together, as one feed has them", async () => {
    await save("b", [
      [10, "v1"],
      [10, "v2"],
    ]);
    await save("c", [
      [10, "v3"],
      [10, "v4"],
      [10, "v5"],
    ]);
    expect(await answered()).toEqual([
      [10, "v1"],
      [10, "v2"],
    ]);
  });

  test("two feeds that alternate settle, whatever they say", async () => {
    await save("a", [[10, "one"]], nowMs, { aliases: ["CVE-1", "CVE-2"] });
    await save("b", [[10, "other"]], nowMs, { aliases: ["CVE-3", "CVE-1"] });
    const before = await versions();
    for (const at of [1, 2, 3]) {
      expect(await save("a", [[10, "one"]], nowMs + at, { aliases: ["CVE-1", "CVE-2"] })).toEqual([
        unchanged,
        "unchanged",
      ]);
      expect(await save("b", [[10, "other"]], nowMs + at, { aliases: ["CVE-3", "CVE-1"] })).toEqual([
        unchanged,
        "unchanged",
      ]);
    }
    expect(await versions()).toEqual(before);
    const [row] = await rowsOf(documents.table);
    expect(row!.columns.identifiers).toEqual(["A", "CVE-1", "CVE-2", "CVE-3"]);
  });

  test("what a feed changes is changed where it is believed, and nowhere else", async () => {
    await save("a", [[10, "one"]]);
    await save("b", [[10, "other"]]);
    const before = await versions();
    expect(await save("b", [[10, "changed"]])).toEqual([{ ...unchanged, unchanged: 0, changed: 1 }, "changed"]);
    expect([await answered(), await versions()]).toEqual([[[10, "one"]], before]);
    await save("a", [[10, "changed"]]);
    expect([await answered(), await versions()]).toEqual([[[10, "changed"]], before.map((version) => version + 1)]);
  });

  test("a feed prunes what it said; what another feed says stays", async () => {
    await save("a", [[10, "one"]]);
    await save("b", [[20, "other"]]);
    expect(await prune("c", () => false)).toEqual([0, 0]);
    expect(await prune("a", () => true)).toEqual([0, 0]);
    expect(await prune("a", () => false)).toEqual([1, 1]);
    expect(await answered()).toEqual([[20, "other"]]);
    expect(await prune("b", () => false)).toEqual([1, 1]);
    expect(await answered()).toEqual([]);
    expect(await database().sql("select uid from feed_documents union all select uid from feed_advisories")).toEqual(
      [],
    );
  });

  test("an advisory that a feed does not list any more is pruned of this feed alone", async () => {
    const saveIds = (feed: string, ...ids: string[]) =>
      saveAll(
        feed,
        ids.map((advisoryId) => advisoryOf([], { advisoryId })),
      );
    await saveIds("a", "A", "B");
    await saveIds("b", "B", "C");
    expect(await saveIds("a", "A")).toEqual([unchanged, 1]);
    expect((await rowsOf(advisories.table)).map((row) => messageOf(advisories, row).advisoryId).sort()).toEqual([
      "A",
      "B",
      "C",
    ]);
    expect(await saveIds("b", "C")).toEqual([unchanged, 1]);
    expect(await rowsOf(advisories.table)).toHaveLength(2);
  });

  test("the order of feeds is stored, and what was merged is merged again when it changes", async () => {
    await save("a", [[10, "one"]]);
    await save("b", [[10, "other"]]);
    await save(defaultFeed, [
      [10, "early"],
      [5, "v1"],
    ]);
    await refreshDerivedRows(db, () => nowMs);
    const settled = await versions();
    await refreshDerivedRows(db, () => nowMs + 1);
    expect([await answered(), await versions()]).toEqual([
      [
        [10, "one"],
        [5, "v1"],
      ],
      settled,
    ]);
    await db.transact((session) => writeFeedOrder(session, ["none", "b"]));
    await refreshDerivedRows(db, () => nowMs + 2);
    expect((await answered())[0]).toEqual([10, "other"]);
    await db.transact((session) => writeFeedOrder(session, [defaultFeed]));
    await refreshDerivedRows(db, () => nowMs + 3);
    expect((await answered())[0]).toEqual([10, "early"]);
    await save("a", [[10, "newer"]]);
    expect((await answered())[0]).toEqual([10, "early"]);
  });

  test("the fields of an advisory are those of the feed that comes first, and it is found by the newest event of all", async () => {
    const saveOne = (feed: string, advisory: Advisory) =>
      db.transact((session) => saveAdvisories(session, { feed, group, advisories: [advisory], nowMs }));
    await saveOne("b", advisoryOf([[20, "v2"]], { componentName: "libssl", author: "b" }));
    await saveOne("a", advisoryOf([[10, "one"]], { componentName: "libcrypto", author: "a" }));
    const [row] = await rowsOf(advisories.table);
    expect(messageOf(advisories, row!)).toMatchObject({ componentName: "libcrypto", author: "a" });
    expect(row!.columns.terms).toContain(latestEventTerm(EventTypeFilter.FIXED));
    const uids = messageOf(advisories, row!).events.map(({ uid }) => uid);
    expect(new Set(uids).size).toBe(2);
    for (const uid of uids) expect(uid.startsWith(`${row!.uid}/`)).toBe(true);
  });

  test("more than the API lets an advisory have is cut to the newest", async () => {
    const events = (from: number) => Array.from({ length: 700 }, (_, i): Said => [from + i, "v1"]);
    const aliases = (from: number) => Array.from({ length: 70 }, (_, i) => `CVE-${from + i}`);
    await save("a", events(0), nowMs, { aliases: aliases(0) });
    await save("b", events(10_000), nowMs, { aliases: aliases(1000) });
    const [row] = await rowsOf(advisories.table);
    const merged = messageOf(advisories, row!);
    expect([merged.events.length, merged.aliases.length]).toEqual([1000, 100]);
    expect(timestampMs(merged.events[0]!.createTime!)).toBe(10_699);
    const [documentRow] = await rowsOf(documents.table);
    expect(messageOf(documents, documentRow!).advisories[0]!.events).toHaveLength(1400);
  });

  test("very many advisories of several feeds are merged and pruned", async () => {
    const saveMany = (feed: string, count: number) =>
      saveAll(
        feed,
        Array.from({ length: count }, (_, i) => advisoryOf([[i, feed]], { advisoryId: `A-${i}` })),
      );
    await saveMany("a", 450);
    await saveMany("b", 450);
    expect((await saveMany("a", 0))[1]).toBe(450);
    expect(await db.read.count(advisories.table, {})).toBe(450);
    expect(await saveMany("b", 1)).toEqual([unchanged, 449]);
    expect(await db.read.count(advisories.table, {})).toBe(1);
  });
});
