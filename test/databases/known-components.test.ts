/** What a server remembers of components: it forgets what has changed, and nothing else. */
import { expect, test } from "vitest";
import { readOsv } from "../../src/feeds/index.ts";
import { newUid } from "../../src/new-uid.ts";
import { writeFeedOrder } from "../../src/resource/index.ts";
import type { Generation } from "../../src/services/findings/known/components.ts";
import {
  blockOf,
  FactWriter,
  KnownComponents,
  saveExploitScores,
  saveFeed,
  saveImagePackages,
} from "../../src/services/index.ts";
import { componentId } from "../../src/services/matches/components.ts";
import type { Database } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const nowMs = Date.UTC(2026, 10, 5);
const digest = `sha256:${"1".repeat(64)}`;

onEveryDatabase("what is known about components", (database) => {
  const contain = (db: Database, names: readonly string[], licenses: readonly string[] = []) =>
    db.transact((session) => {
      const packages = names.map((name) => ({
        ...{ name, version: "1.0.0", type: "npm", architecture: "", origin: "", originVersion: "", licenses },
      }));
      const repo = newUid(newUid(""));
      return saveImagePackages(session, repo, digest, { packages }, nowMs);
    });
  const record = (name: string, more: object = {}) => ({
    id: `GHSA-${name}`,
    modified: "2026-01-02T03:04:05Z",
    affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
    ...more,
  });
  const importRecords = (db: Database, records: readonly object[]) =>
    db.transact(async (session) => {
      const writer = new FactWriter(session, nowMs);
      for (const each of records) await writer.saveAlone("osv", readOsv(each, () => {}).facts);
      await writer.settle();
    });
  /** A memory that knows the packages, and what it says of one: the object itself, so that it tells what was kept. */
  async function remembering(db: Database, names: readonly string[]) {
    const memory = new KnownComponents();
    const open = async () => {
      const known = await memory.open(db.read);
      const numbers = names.map((name) => numberOf(known, name));
      await known.load(db.read, numbers);
      return { known, findings: (name: string) => known.findings(numberOf(known, name)) };
    };
    return { open, before: await open() };
  }
  const numberOf = (known: Generation, name: string) => known.numberOf(componentId(`pkg:npm/${name}@1.0.0`));
  const idsOf = (findings: readonly { vulnerability: { id: string } }[]) =>
    findings.map(({ vulnerability }) => vulnerability.id);

  async function prepared() {
    const db = await database().open();
    await contain(db, ["a", "b"]);
    await importRecords(db, [record("a"), record("b", { aliases: ["CVE-2026-1001"] })]);
    return { db, ...(await remembering(db, ["a", "b"])) };
  }

  test("is kept while nothing changes, and when images come", async () => {
    const { db, open, before } = await prepared();
    await contain(db, ["a", "b", "c"]);
    await importRecords(db, [record("a")]);
    const { known } = await open();
    expect(known).toBe(before.known);
  });

  test.each([
    ["a record changes", (db: Database) => importRecords(db, [record("a", { affected: [] })]), []],
    ["a record comes", (db: Database) => importRecords(db, [{ ...record("a"), id: "GHSA-2" }]), ["GHSA-2", "GHSA-a"]],
    [
      "an alias comes",
      (db: Database) => importRecords(db, [record("a", { aliases: ["CVE-2026-1002"] })]),
      ["CVE-2026-1002"],
    ],
  ] as const)("is forgotten of a component alone when %s", async (_, change, ids) => {
    const { db, open, before } = await prepared();
    expect(idsOf(before.findings("a"))).toEqual(["GHSA-a"]);
    await change(db);
    const after = await open();
    expect(idsOf(after.findings("a")).sort()).toEqual(ids);
    expect(after.findings("b")).toBe(before.findings("b"));
    expect(idsOf(before.findings("a"))).toEqual(["GHSA-a"]); // a call goes on with what it began with
  });

  test("is forgotten of the components of a vulnerability whose EPSS changes", async () => {
    const { db, open, before } = await prepared();
    const scores = [{ cve: "CVE-2026-1001", epss: 500_000, percentile: 900_000 }];
    const block = { block: blockOf("CVE-2026-1001"), scores, isWhole: false };
    await db.transact((session) => saveExploitScores(session, block, nowMs));
    const after = await open();
    expect(after.findings("b")[0]!.vulnerability.epss).toBe(0.5);
    expect(after.findings("a")).toBe(before.findings("a"));
  });

  test("includes why something is not known, while that is so", async () => {
    const { db, open } = await prepared();
    const affected = (fixed: string) => [
      {
        package: { ecosystem: "npm", name: "a" },
        ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed }] }],
      },
    ];
    const reasonOf = async (fixed: string) => {
      await importRecords(db, [record("a", { affected: affected(fixed) })]);
      const { known, findings } = await open();
      return [known.reason(numberOf(known, "a")), idsOf(findings("a"))];
    };
    const reason = "is compared with a version that is not one of its type";
    expect(await reasonOf("not a version")).toEqual([reason, []]);
    expect(await reasonOf("2.0.0")).toEqual([undefined, ["GHSA-a"]]);
    expect(await reasonOf("not a version")).toEqual([reason, []]);
    expect(await reasonOf("1.0.0")).toEqual([undefined, []]);
    await importRecords(db, [record("c", { affected: affected("neither") })]);
    await contain(db, ["c"]);
    const { known } = await open();
    await known.load(db.read, [numberOf(known, "c")]);
    expect(known.reason(numberOf(known, "c"))).toBeUndefined(); // the record is about another package
    expect(known.reason(numberOf(known, "a"))).toBe(reason);
  });

  test("is forgotten of a component that has more licences", async () => {
    const { db, open, before } = await prepared();
    await contain(db, ["a"], ["MIT"]);
    const after = await open();
    expect(after.known.component(numberOf(after.known, "a")).licenses).toEqual(["MIT"]);
    expect(after.findings("b")).toBe(before.findings("b"));
  });

  test.each([
    [
      "more has changed than is listed",
      async (db: Database) => {
        for (let i = 0; i < 3; i++)
          await contain(
            db,
            Array.from({ length: 800 }, (_, n) => `of-${i}-${n}`),
          );
        for (let i = 0; i < 3; i++)
          await importRecords(
            db,
            Array.from({ length: 800 }, (_, n) => record(`of-${i}-${n}`)),
          );
      },
    ],
    ["the order of feeds changes", (db: Database) => db.transact((session) => writeFeedOrder(session, ["osv", "x"]))],
    [
      "a feed becomes complete for packages",
      (db: Database) =>
        db.transact((session) =>
          saveFeed(session, {
            ...{ feed: "osv", command: "osv", importMs: nowMs },
            claims: [{ pattern: "pkg:npm/*", coverage: "COMPLETE" }],
          }),
        ),
    ],
  ] as const)("is forgotten of all when %s", async (_, change) => {
    const { db, open, before } = await prepared();
    await change(db);
    const after = await open();
    expect(after.findings("a")).not.toBe(before.findings("a"));
    expect(idsOf(after.findings("a"))).toEqual(["GHSA-a"]);
  });
});
