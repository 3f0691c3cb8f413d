/** What documents of feeds say about packages: stored, replaced and pruned with them. */
import { toJson } from "@bufbuild/protobuf";
import { beforeEach, expect, test } from "vitest";
import { VulnerabilitySchema } from "../../gen/platform/findings/v1/vulnerabilities_pb.ts";
import { FeedRefusal, readAdvisories } from "../../src/feeds/index.ts";
import { messageOf } from "../../src/resource/index.ts";
import { pruneDocuments, recordsOfDocument, saveDocument, unmatchedIn } from "../../src/services/index.ts";
import { affectedOf } from "../../src/services/matches/affected.ts";
import { affectedPackages, vulnerabilityRecords } from "../../src/services/matches/tables.ts";
import { vulnerabilities } from "../../src/services/matches/vulnerabilities.ts";
import type { Database } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const nowMs = Date.UTC(2026, 10, 5);
const wolfi = { namespace: "wolfi" };

const at = (day: number) => `2026-01-${String(day).padStart(2, "0")}T00:00:00Z`;
const event = (type: string, day: number, data?: object) => ({ type, timestamp: at(day), ...(data && { data }) });
const fixed = (version: string, day: number) => event("fixed", day, { "fixed-version": version });
const document = (name: string, ...advisories: object[]) => ({
  "schema-version": "2.0.2",
  package: { name },
  advisories,
});
const secdb = (secfixes: object) => ({
  distroversion: "v3.19",
  reponame: "main",
  packages: [{ pkg: { name: "openssl", secfixes } }],
});
const vex = (...statements: object[]) => ({
  "@context": "https://openvex.dev/ns/v0.2.0",
  "@id": "https://vex.example.com/1",
  author: "Example",
  timestamp: at(1),
  version: 1,
  statements,
});

onEveryDatabase("facts of documents", (database) => {
  let db: Database;
  beforeEach(async () => {
    db = await database().open();
  });

  const save = (
    record: unknown,
    { feed = "feed", distribution = {} as { namespace?: string; distro?: string } } = {},
  ) =>
    db.transact(async (session) => {
      const saved: string[] = [];
      const unmatched: string[] = [];
      for (const item of readAdvisories(record, () => {}, distribution)) {
        if (item instanceof FeedRefusal) throw item;
        const records = recordsOfDocument(item.document, item.format === "openvex");
        unmatched.push(...unmatchedIn(records));
        saved.push(
          await saveDocument(session, { feed, part: item.part ?? "", document: item.document, records, nowMs }),
        );
      }
      return { saved, unmatched };
    });
  const facts = async () => {
    const rows = await db.read.list(affectedPackages, { limit: 100 });
    return rows
      .map(affectedOf)
      .map(({ uid: _, vulnerability: __, sinceMs: ___, earlier: ____, ...rest }) => JSON.parse(JSON.stringify(rest)))
      .sort((a, b) => (`${a.id} ${a.key}` < `${b.id} ${b.key}` ? -1 : 1));
  };
  const stored = async () => {
    const rows = await db.read.list(vulnerabilities.table, { limit: 100 });
    const all = rows.map(
      (row) => toJson(VulnerabilitySchema, messageOf(vulnerabilities, row)) as Record<string, unknown>,
    );
    return all.sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
  };

  test("an advisory is a record with its events", async () => {
    await save(
      document(
        "openssl",
        {
          id: "CGA-1",
          aliases: ["CVE-2026-1000", "GHSA-a"],
          events: [event("detection", 1, { type: "manual" }), fixed("3.1.0-r1", 2)],
        },
        {
          id: "CGA-2",
          aliases: ["CVE-2026-2000"],
          events: [event("false-positive-determination", 3, { type: "inline-mitigations-exist", note: "why" })],
        },
      ),
      { distribution: wolfi },
    );
    const common = { feed: "feed", kind: "advisory", key: "pkg:apk/wolfi/openssl" };
    const of = [{ key: "pkg:apk/wolfi/openssl", distro: "", ranges: [], versions: [] }];
    expect(await facts()).toEqual([
      {
        ...common,
        id: "CGA-1",
        facts: of,
        modifyMs: Date.parse(at(2)),
        events: [
          { kind: "FIXED", timeMs: Date.parse(at(2)), fixedVersion: "3.1.0-r1" },
          { kind: "DETECTION", timeMs: Date.parse(at(1)) },
        ],
      },
      {
        ...common,
        id: "CGA-2",
        facts: of,
        modifyMs: Date.parse(at(3)),
        events: [
          { kind: "FALSE_POSITIVE", timeMs: Date.parse(at(3)), justification: "INLINE_MITIGATIONS_EXIST", note: "why" },
        ],
      },
    ]);
    const [first, second] = await stored();
    expect(first).toMatchObject({
      id: "CVE-2026-1000",
      aliases: ["CGA-1", "GHSA-a"],
      affected: [{ packageUrl: "pkg:apk/wolfi/openssl", ranges: ["vers:apk/<3.1.0-r1"], fixedVersions: ["3.1.0-r1"] }],
    });
    expect(second).toMatchObject({ id: "CVE-2026-2000" });
    expect(second).not.toHaveProperty("affected");
  });

  test("a secdb has the release of its repository, and many packages of one CVE are one record", async () => {
    await save(secdb({ "3.1.0-r0": ["CVE-2026-1000"], 0: ["CVE-2026-2000"] }), {
      distribution: { namespace: "alpine" },
    });
    const [one, two] = await stored();
    expect(one).toMatchObject({
      id: "CVE-2026-1000",
      records: [{ source: "feed", id: "CVE-2026-1000" }],
      affected: [{ packageUrl: "pkg:apk/alpine/openssl", distro: "alpine-3.19", ranges: ["vers:apk/<3.1.0-r0"] }],
    });
    expect(two).not.toHaveProperty("affected");
    await save(document("curl", { id: "CVE-2026-1000", events: [fixed("1-r0", 1)] }), { distribution: wolfi });
    expect((await stored())[0]).toMatchObject({ records: [{ id: "CVE-2026-1000" }], affected: [{}, {}] });
  });

  test("without a distribution nothing can be matched", async () => {
    const { unmatched } = await save(document("openssl", { id: "CGA-1", events: [fixed("1-r0", 1)] }));
    expect(unmatched).toEqual(["names no distribution"]);
    expect(await facts()).toMatchObject([{ key: "", unmatched: "names no distribution" }]);
  });

  test("a statement of VEX is about the product that it names, its version and its subcomponent", async () => {
    const { unmatched } = await save(
      vex(
        {
          vulnerability: { name: "CVE-2026-1" },
          products: [{ "@id": "pkg:npm/a" }],
          status: "not_affected",
          justification: "component_not_present",
        },
        {
          vulnerability: { name: "CVE-2026-2" },
          products: [{ "@id": "pkg:npm/a@1.0.0" }],
          status: "affected",
          action_statement: "wait",
        },
        {
          vulnerability: { name: "CVE-2026-3" },
          products: [{ "@id": "pkg:npm/a", subcomponents: [{ "@id": "pkg:npm/b@2.0.0" }] }],
          status: "under_investigation",
        },
        {
          vulnerability: { name: "CVE-2026-4" },
          products: [{ "@id": "pkg:oci/image@sha256%3A00" }],
          status: "affected",
          action_statement: "wait",
        },
      ),
    );
    expect(unmatched).toEqual(["is an image, not a package"]);
    expect(await facts()).toMatchObject([
      { id: "CVE-2026-1", kind: "vex", key: "pkg:npm/a", facts: [{ isSource: false, versions: [] }] },
      { id: "CVE-2026-2", kind: "vex-exact", key: "pkg:npm/a", facts: [{ versions: ["1.0.0"] }] },
      { id: "CVE-2026-3", kind: "vex-exact", key: "pkg:npm/a", subcomponent: "pkg:npm/b@2.0.0" },
      { id: "CVE-2026-4", kind: "vex", key: "" },
    ]);
  });

  test("a document replaces what it said, a second time changes nothing, and a removed one says nothing", async () => {
    const [one, two] = [1, 2].map((n) => ({
      id: `CGA-${n}`,
      aliases: [`CVE-2026-${n}000`],
      events: [fixed(`${n}-r0`, n)],
    }));
    expect((await save(document("a", one!, two!), { distribution: wolfi })).saved).toEqual(["added"]);
    await save(document("b", one!), { distribution: wolfi, feed: "other" });
    expect((await save(document("a", one!, two!), { distribution: wolfi })).saved).toEqual(["unchanged"]);
    expect((await save(document("a", two!), { distribution: wolfi })).saved).toEqual(["changed"]);
    expect((await facts()).map(({ id, key }) => [id, key])).toEqual([
      ["CGA-1", "pkg:apk/wolfi/b"],
      ["CGA-2", "pkg:apk/wolfi/a"],
    ]);
    expect(await db.transact((session) => pruneDocuments(session, { feed: "feed", nowMs }, () => false))).toMatchObject(
      { removed: 1 },
    );
    expect((await stored()).map(({ id }) => id)).toEqual(["CVE-2026-1000"]);
    expect(await db.read.count(vulnerabilityRecords, {})).toBe(1);
  });

  test("a document that was imported before there were facts gets them", async () => {
    const of = document("a", { id: "CGA-1", events: [fixed("1-r0", 1)] });
    await save(of, { distribution: wolfi });
    const expected = await facts();
    const rows = await db.read.list(vulnerabilityRecords, { limit: 10 });
    await database().sql("delete from affected_packages");
    await db.transact(async (session) => {
      for (const { uid } of rows) await session.remove(vulnerabilityRecords, uid);
    });
    expect((await save(of, { distribution: wolfi })).saved).toEqual(["changed"]);
    expect(await facts()).toEqual(expected);
  });
});
