/** What records of feeds say of vulnerabilities and packages: stored, grouped by aliases, and answered. */
import { toJson } from "@bufbuild/protobuf";
import { beforeEach, expect, test } from "vitest";
import { VulnerabilitySchema } from "../../gen/platform/findings/v1/vulnerabilities_pb.ts";
import { readOsv } from "../../src/feeds/index.ts";
import { messageOf } from "../../src/resource/index.ts";
import { FactWriter, pruneRecords } from "../../src/services/matches/fact-writer.ts";
import { affectedPackages, vulnerabilityRecords } from "../../src/services/matches/tables.ts";
import { vulnerabilities } from "../../src/services/matches/vulnerabilities.ts";
import type { Database, TableSpec } from "../../src/store/index.ts";
import { campaign } from "../campaign.ts";
import { randomNumbers } from "../feeds/random-numbers.ts";
import { onEveryDatabase } from "./databases.ts";

const seeds = campaign({ short: [1, 2], full: Array.from({ length: 20 }, (_, i) => i) });
const nowMs = Date.UTC(2026, 10, 5);
const modified = "2026-01-02T03:04:05Z";
const v3 = { type: "CVSS_V3", score: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H" };

interface Osv {
  readonly id: string;
  readonly aliases?: readonly string[];
  readonly [member: string]: unknown;
}

const npm = (name: string, ...events: readonly object[]) => ({
  package: { ecosystem: "npm", name },
  ranges: [{ type: "SEMVER", events }],
});

/** A record about one package of npm. */
function record(id: string, aliases: readonly string[] = [], more: object = {}): Osv {
  return {
    id,
    modified,
    aliases,
    affected: [npm(id.toLowerCase(), { introduced: "1.0.0" }, { fixed: "2.0.0" })],
    ...more,
  };
}

onEveryDatabase("facts", (database) => {
  let db: Database;
  beforeEach(async () => {
    db = await database().open();
  });

  const save = (records: readonly Osv[], { feed = "osv", at = nowMs } = {}) =>
    db.transact(async (session) => {
      const writer = new FactWriter(session, at);
      const saved: string[] = [];
      for (const each of records) saved.push(await writer.saveAlone(feed, readOsv(each, () => {}).facts));
      await writer.settle();
      return saved;
    });
  const prune = (isKept: (id: string) => boolean, feed = "osv") =>
    db.transact(async (session) => {
      const { removed } = await pruneRecords(session, { feed, nowMs }, ({ id }) => isKept(id));
      return removed;
    });
  const rowsOf = (table: TableSpec) => db.read.list(table, { limit: 1000 });
  /** All vulnerabilities by id, without what depends on the time. */
  const stored = async () => {
    const rows = await rowsOf(vulnerabilities.table);
    const all = rows.map(
      (row) => toJson(VulnerabilitySchema, messageOf(vulnerabilities, row)) as Record<string, unknown>,
    );
    return all
      .map(({ createTime: _, updateTime: __, etag: ___, ...rest }) => rest)
      .sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
  };
  const idsOf = async () => (await stored()).map(({ id, aliases = [] }) => [id, ...(aliases as string[])]);
  /** All rows with their columns, without times and versions. */
  /** What a row has, without what its package was said to be before, which edits leave behind. */
  const contentOf = (body: Uint8Array, isOfPackage: boolean) => {
    if (!isOfPackage) return Buffer.from(body).toString("base64");
    const { earlier: _, ...said } = JSON.parse(Buffer.from(body).toString());
    return JSON.stringify(said);
  };
  const everything = async () => {
    const tables = [vulnerabilityRecords, affectedPackages, vulnerabilities.table];
    const all = await Promise.all(tables.map(rowsOf));
    return all.map((rows, i) =>
      rows.map(({ uid, columns, body }) => [uid, columns, contentOf(body, i === 1)] as const),
    );
  };
  const versions = async () =>
    database().sql("select uid, version from vulnerabilities union all select uid, version from affected_packages");

  test("a record is a vulnerability, with all that it says", async () => {
    const one = record("GHSA-aaaa-bbbb-cccc", ["CVE-2026-1000"], {
      summary: "A summary\nin two lines",
      published: "2026-01-01T00:00:00Z",
      upstream: ["CVE-2026-9"],
      related: ["CVE-2026-8"],
      severity: [v3],
      database_specific: { cwe_ids: ["CWE-79", "CWE-9"], severity: "LOW" },
      affected: [
        npm("a", { introduced: "0" }, { fixed: "1.2.3" }, { introduced: "2.0.0" }, { last_affected: "2.5.0" }),
        { package: { ecosystem: "Linux", name: "Kernel" }, ranges: [{ type: "GIT", events: [{ introduced: "0" }] }] },
      ],
    });
    expect(await save([one])).toEqual(["added"]);
    expect(await stored()).toEqual([
      {
        id: "CVE-2026-1000",
        aliases: ["GHSA-aaaa-bbbb-cccc"],
        summary: "A summary in two lines",
        level: "LEVEL_CRITICAL",
        score: 9.8,
        ratings: [{ source: "ghsa", vector: v3.score, score: 9.8, level: "LEVEL_CRITICAL" }],
        publishTime: "2026-01-01T00:00:00Z",
        modifyTime: modified,
        records: [
          {
            source: "osv",
            id: "GHSA-aaaa-bbbb-cccc",
            aliases: ["CVE-2026-1000"],
            upstream: ["CVE-2026-9"],
            related: ["CVE-2026-8"],
            publishTime: "2026-01-01T00:00:00Z",
            modifyTime: modified,
          },
        ],
        affected: [
          {
            source: "osv",
            id: "GHSA-aaaa-bbbb-cccc",
            unmatchedReason: "Linux Kernel: is of an ecosystem without package URLs",
          },
          {
            source: "osv",
            id: "GHSA-aaaa-bbbb-cccc",
            packageUrl: "pkg:npm/a",
            ranges: ["vers:npm/<1.2.3|>=2.0.0|<=2.5.0"],
            fixedVersions: ["1.2.3"],
          },
        ],
        weaknesses: ["CWE-9", "CWE-79"],
        uid: expect.any(String),
      },
    ]);
  });

  test("saving again writes nothing, and a change only what it changes", async () => {
    const [a, b] = [record("GHSA-a", ["CVE-2026-1000"]), record("GHSA-b", ["CVE-2026-2000"])];
    await save([a, b]);
    const before = await versions();
    expect(await save([a, b], { at: nowMs + 1000 })).toEqual(["unchanged", "unchanged"]);
    expect(await versions()).toEqual(before);
    expect(await save([{ ...a, summary: "new" }, b])).toEqual(["changed", "unchanged"]);
    const changed = (await versions()).filter(({ version }) => Number(version) > 1);
    expect(changed).toHaveLength(1);
  });

  test("records that name each other are one vulnerability, across feeds", async () => {
    await save([record("GHSA-a", ["CVE-2026-1000"])]);
    await save([record("PYSEC-1", ["GHSA-a"])], { feed: "pypi" });
    expect(await idsOf()).toEqual([["CVE-2026-1000", "GHSA-a", "PYSEC-1"]]);
    const [one] = await stored();
    expect((one!.affected as { packageUrl: string }[]).map(({ packageUrl }) => packageUrl)).toEqual([
      "pkg:npm/ghsa-a",
      "pkg:npm/pysec-1",
    ]);
  });

  test("an alias that is added moves records and packages to another vulnerability, and back", async () => {
    await save([record("GHSA-a"), record("PYSEC-1", ["GHSA-b"])]);
    const before = await everything();
    expect(await idsOf()).toEqual([["GHSA-a"], ["GHSA-b", "PYSEC-1"]]);
    await save([record("GHSA-a", ["CVE-2026-1000", "PYSEC-1"])]);
    expect(await idsOf()).toEqual([["CVE-2026-1000", "GHSA-a", "GHSA-b", "PYSEC-1"]]);
    const [{ uid }] = (await stored()) as [{ uid: string }];
    expect((await rowsOf(affectedPackages)).map(({ columns }) => columns.vulnerability)).toEqual([uid, uid]);
    await save([record("GHSA-a")]);
    expect(await everything()).toEqual(before);
  });

  test("an id that two CVEs claim does not unite them, and its packages are those of both", async () => {
    await save([record("GHSA-a", ["CVE-2026-1000", "CVE-2026-2000"])]);
    expect(await idsOf()).toEqual([
      ["CVE-2026-1000", "GHSA-a"],
      ["CVE-2026-2000", "GHSA-a"],
    ]);
    expect((await stored()).map(({ affected }) => (affected as unknown[]).length)).toEqual([1, 1]);
    await save([record("GHSA-a", ["CVE-2026-2000"])]);
    expect(await idsOf()).toEqual([["CVE-2026-2000", "GHSA-a"]]);
    expect(await rowsOf(affectedPackages)).toHaveLength(1);
    await save([record("GHSA-a", ["CVE-2026-2000", "CVE-2026-3000"])]);
    expect((await rowsOf(affectedPackages)).map(({ columns }) => columns.package_key)).toEqual([
      "pkg:npm/ghsa-a",
      "pkg:npm/ghsa-a",
    ]);
  });

  test("what is stored does not depend on the order of the records", async () => {
    const records = [
      record("GHSA-a", ["CVE-2026-1000"]),
      record("PYSEC-1", ["GHSA-a", "GHSA-b"]),
      record("GHSA-b", ["CVE-2026-2000"]),
      record("GO-1", ["GHSA-b", "CVE-2026-1000"]),
      record("CVE-2026-1000", ["OTHER-1"], { withdrawn: modified }),
      record("OTHER-2", ["PYSEC-1"]),
    ];
    await save(records);
    const expected = await everything();
    await prune(() => false);
    expect(await everything()).toEqual([[], [], []]);
    for (const each of records.toReversed()) await save([each]);
    expect(await everything()).toEqual(expected);
    await prune(() => false);
    for (const some of [records.slice(3), records.slice(0, 3)]) await save(some);
    expect(await everything()).toEqual(expected);
  });

  test.each(seeds)("random edits leave what an import of the last records would, seed %i", async (seed) => {
    const random = randomNumbers(seed);
    const pick = <T>(list: readonly T[]) => list[random.below(list.length)]!;
    const ids = [
      ..."1000 1001 1002 1003".split(" ").map((number) => `CVE-2026-${number}`),
      ..."GHSA-a GHSA-b GHSA-c PYSEC-1 PYSEC-2 GO-1".split(" "),
    ];
    const last = new Map<string, { feed: string; record: Osv }>();
    for (let transaction = 0; transaction < 25; transaction++) {
      const feed = pick(["one", "other"]);
      if (random.below(5) === 0) {
        const gone = pick(ids);
        await prune((id) => id !== gone, feed);
        last.delete(`${feed} ${gone}`);
        continue;
      }
      const records = Array.from({ length: 1 + random.below(3) }, () => {
        const aliases = [...new Set(Array.from({ length: random.below(3) }, () => pick(ids)))];
        const packages = Array.from({ length: 1 + random.below(2) }, () => pick(["a", "b", "c"]));
        return record(pick(ids), aliases, {
          ...(random.below(10) === 0 && { withdrawn: modified }),
          affected: packages.map((name) => npm(name, { introduced: "0" }, { fixed: pick(["1.0.0", "2.0.0"]) })),
        });
      });
      await save(records, { feed });
      for (const each of records) last.set(`${feed} ${each.id}`, { feed, record: each });
    }
    const edited = await everything();
    for (const feed of ["one", "other"]) await prune(() => false, feed);
    expect(await everything()).toEqual([[], [], []]);
    for (const { feed, record: each } of [...last.values()].reverse()) await save([each], { feed });
    expect(await everything()).toEqual(edited);
  });

  test("a record that is withdrawn says nothing about packages, and its vulnerability has the time", async () => {
    await save([record("GHSA-a", ["CVE-2026-1000"], { severity: [v3] })]);
    expect(await rowsOf(affectedPackages)).toHaveLength(1);
    await save([record("GHSA-a", ["CVE-2026-1000"], { severity: [v3], withdrawn: modified })]);
    expect(await rowsOf(affectedPackages)).toEqual([]);
    expect(await stored()).toMatchObject([{ id: "CVE-2026-1000", withdrawTime: modified }]);
    expect((await stored())[0]).not.toHaveProperty("level");
    await save([record("PYSEC-1", ["CVE-2026-1000"])]);
    expect((await stored())[0]).not.toHaveProperty("withdrawTime");
  });

  test("a feed prunes its own records", async () => {
    await save([record("GHSA-a", ["CVE-2026-1000"]), record("GHSA-b", ["CVE-2026-2000"])]);
    await save([record("GHSA-a", ["CVE-2026-1000"])], { feed: "other" });
    expect(await prune((id) => id === "GHSA-b")).toBe(1);
    expect(await idsOf()).toEqual([
      ["CVE-2026-1000", "GHSA-a"],
      ["CVE-2026-2000", "GHSA-b"],
    ]);
    expect(await prune(() => false, "other")).toBe(1);
    expect(await idsOf()).toEqual([["CVE-2026-2000", "GHSA-b"]]);
    expect((await rowsOf(affectedPackages)).map(({ columns }) => columns.feed)).toEqual(["osv"]);
  });

  test("a record that changes twice in a transaction is what it was at last", async () => {
    await save([record("GHSA-a", ["CVE-2026-1000"])]);
    await save([record("GHSA-a", ["CVE-2026-2000"]), record("GHSA-a", ["CVE-2026-3000"])]);
    expect(await idsOf()).toEqual([["CVE-2026-3000", "GHSA-a"]]);
    expect(await rowsOf(affectedPackages)).toHaveLength(1);
  });
});
