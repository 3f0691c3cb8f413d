/** What is recorded of what is open in repos: states and days, where counting begins, and what is removed. */
import { create } from "@bufbuild/protobuf";
import { beforeEach, expect, test } from "vitest";
import { Finding_Level } from "../../gen/platform/findings/v1/findings_pb.ts";
import { RepoSchema } from "../../gen/platform/registry/v2/repos_pb.ts";
import { TagSchema } from "../../gen/platform/registry/v2/tags_pb.ts";
import { readOsv } from "../../src/feeds/index.ts";
import { newUid } from "../../src/new-uid.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { removeOrphans } from "../../src/services/bounds/orphans.ts";
import {
  countsOf,
  dayCountsOf,
  dayOf,
  findingDays,
  findingStates,
  firstDay,
  msOfDay,
  stateOf,
} from "../../src/services/findings/summary/stored-counts.ts";
import { FactWriter, KnownComponents, recordFindingDays, saveImagePackages } from "../../src/services/index.ts";
import { repos } from "../../src/services/registry/repos.ts";
import { tags } from "../../src/services/registry/tags.ts";
import type { Database } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

const { HIGH, LOW } = Finding_Level;
const vectors = {
  [HIGH]: "CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H",
  [LOW]: "CVSS:3.1/AV:N/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N",
};
const digest = `sha256:${"1".repeat(64)}`;
const beginMs = Date.UTC(2026, 10, 5, 12);
const today = dayOf(beginMs);

onEveryDatabase("days of findings", (database) => {
  let db: Database;
  beforeEach(async () => {
    db = await database().open();
  });

  /** A repo with a tag for an image that contains npm packages. */
  const makeRepo = (packages: readonly string[], nowMs = beginMs) =>
    db.transact(async (session) => {
      const uid = newUid(newUid(""));
      const repo = contentOf(repos, create(RepoSchema, { name: "app" }));
      await session.insert(repos.table, newRow(uid, uid.slice(0, 40), nowMs, repo));
      await session.insert(
        tags.table,
        newRow(newUid(uid), uid, nowMs, contentOf(tags, create(TagSchema, { name: "latest", digest }))),
      );
      const all = packages.map((name) => ({
        ...{ name, version: "1.0.0", type: "npm", architecture: "", origin: "", originVersion: "" },
      }));
      await saveImagePackages(session, uid, digest, { packages: all }, nowMs);
      return uid;
    });
  /** Says that all versions of an npm package are affected. */
  const affect = (name: string, level: keyof typeof vectors, { nowMs = beginMs, more = {} } = {}) =>
    db.transact(async (session) => {
      const affected = [
        { package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] },
      ];
      const severity = [{ type: "CVSS_V3", score: vectors[level] }];
      const record = { id: `GHSA-${name}`, modified: "2026-01-02T03:04:05Z", severity, affected, ...more };
      const writer = new FactWriter(session, nowMs);
      await writer.saveAlone("osv", readOsv(record, () => {}).facts);
      await writer.settle();
    });
  async function recordAt(nowMs: number) {
    const next = recordFindingDays({ database: db, memory: new KnownComponents(), now: () => nowMs });
    let count = 0;
    while (await next()) count++;
    return count;
  }
  const statesOf = async () =>
    new Map((await db.read.list(findingStates, { limit: 100 })).map((row) => [row.parent, stateOf(row)]));
  const daysOf = async () =>
    (await db.read.list(findingDays, { orderBy: [{ column: "end_day", descending: false }], limit: 100 })).map(
      (row) => [row.parent, dayCountsOf(row), row.columns.end_day] as const,
    );

  test("begin with what is open: what was seen before has not been opened", async () => {
    await affect("old", HIGH, { nowMs: msOfDay(today) - 1 });
    const before = await makeRepo(["old"], msOfDay(today) - 1);
    await affect("new", LOW);
    const both = await makeRepo(["old", "new"]);
    expect(await firstDay(db.read)).toBeUndefined();
    expect(await recordAt(beginMs)).toBe(2);
    expect(await firstDay(db.read)).toBe(today);
    const states = await statesOf();
    expect(states.get(before)).toMatchObject({ day: today, open: countsOf([HIGH]), opened: countsOf([]) });
    expect(states.get(both)).toMatchObject({ open: countsOf([HIGH, LOW]), opened: countsOf([HIGH, LOW]) });

    const later = await makeRepo(["old"], msOfDay(today) - 1);
    await recordAt(msOfDay(today + 1));
    expect((await statesOf()).get(later)).toMatchObject({ day: today + 1, opened: countsOf([HIGH]) });
    expect(await firstDay(db.read)).toBe(today);
  });

  test("have a row for each day with a change before the last one, and nothing where nothing is open", async () => {
    const repo = await makeRepo(["a"]);
    await makeRepo(["b"]);
    await recordAt(beginMs);
    expect(await statesOf()).toEqual(new Map());
    await affect("a", HIGH);
    for (let day = today; day < today + 5; day++) await recordAt(msOfDay(day));
    expect(await daysOf()).toEqual([]);
    await affect("a", LOW);
    await recordAt(msOfDay(today + 5));
    await recordAt(msOfDay(today + 6));
    await affect("a", LOW, { more: { withdrawn: "2026-02-02T00:00:00Z" } });
    await recordAt(msOfDay(today + 5)); // a clock that is behind
    expect(await daysOf()).toEqual([
      [repo, { day: today, open: countsOf([HIGH]), opened: countsOf([HIGH]), resolved: countsOf([]) }, today + 5],
    ]);
    await affect("a", HIGH);
    await recordAt(msOfDay(today + 4));
    const resolved = countsOf([LOW]);
    expect((await statesOf()).get(repo)).toMatchObject({ day: today + 5, opened: countsOf([HIGH]), resolved });
    await affect("a", LOW, { more: { withdrawn: "2026-02-02T00:00:00Z" } });
    await recordAt(msOfDay(today + 9));
    expect((await daysOf())[1]).toEqual([
      repo,
      { day: today + 5, open: countsOf([HIGH]), opened: countsOf([HIGH]), resolved },
      today + 9,
    ]);
    expect((await statesOf()).get(repo)).toMatchObject({ day: today + 9, levels: new Map() });
  });

  test("are removed after their repo, and not written any more", async () => {
    const [gone, left] = [await makeRepo(["a"]), await makeRepo(["a"])];
    await affect("a", HIGH);
    await recordAt(beginMs);
    await db.transact((session) => session.remove(repos.table, gone));
    await affect("a", LOW);
    await recordAt(msOfDay(today + 1));
    expect((await daysOf()).map(([repo]) => repo)).toEqual([left]);
    const isDone = removeOrphans(db, { table: findingStates, owner: repos.table });
    while (await isDone());
    expect([...(await statesOf()).keys()]).toEqual([left]);
  });
});
