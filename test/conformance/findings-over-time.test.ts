/** SummarizeFindings: how many vulnerabilities are open, over days that were recorded, and now. */
import { expect, test } from "vitest";
import { KnownComponents, recordFindingDays } from "../../src/services/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import type { Json } from "./contract.ts";
import { importImages, importOsv, importPackages } from "./feed-fixtures.ts";
import { digestOf, freshName, makeGroup, makeMember, makeRepo, makeTag } from "./fixtures.ts";
import { onEveryServer, type Platform } from "./platform.ts";

const dayMs = 86_400_000;
const vectors = {
  LOW: "CVSS:3.1/AV:N/AC:H/PR:H/UI:R/S:U/C:L/I:N/A:N",
  HIGH: "CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H",
  CRITICAL: "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H",
};

/** A record of an npm package, all of whose versions are affected. */
function record(name: string, level: keyof typeof vectors, more: Record<string, unknown> = {}) {
  return {
    id: freshName("GHSA"),
    modified: "2026-01-02T03:04:05Z",
    severity: [{ type: "CVSS_V3", score: vectors[level] }],
    affected: [{ package: { ecosystem: "npm", name }, ranges: [{ type: "SEMVER", events: [{ introduced: "0" }] }] }],
    ...more,
  };
}

/** The day that was `daysAgo`, as answers write it. */
function day(daysAgo: number): string {
  return new Date(Math.floor(Date.now() / dayMs - daysAgo) * dayMs).toISOString();
}

/** Records what is open, as servers do, with the clock of a day that was `daysAgo`: `servers` of them at once. */
async function recordDay({ databaseUrl }: Platform, daysAgo: number, servers = 1): Promise<void> {
  await Promise.all(
    Array.from({ length: servers }, async () => {
      const database = await openDatabase(databaseUrl);
      const now = () => Date.now() - daysAgo * dayMs;
      const next = recordFindingDays({ database, memory: new KnownComponents(), now });
      while (await next());
      await database.close();
    }),
  );
}

/** The counts of an answer, with the group and the repo only where they are counted apart. */
function named(answer: Json): Json[] {
  return answer.counts.map(({ group, repo, ...counts }: Json) => ({
    ...(group !== "" && { group }),
    ...(repo !== "" && { repo }),
    ...counts,
  }));
}

onEveryServer("findings over time", (platform) => {
  /** A repo with a tag for an image with npm packages. */
  async function makeImage(group: string, names: readonly string[]) {
    const { uid } = await makeRepo(platform(), group);
    const digest = digestOf(Math.floor(Math.random() * 1e9));
    await importImages(platform(), uid, { digest, platforms: [{ architecture: "amd64" }] });
    await importPackages(platform(), uid, digest, ...names.map((name) => ({ name, version: "1.0.0", type: "npm" })));
    return { repo: uid as string, tag: (await makeTag(platform(), uid, { digest })).uid as string, digest };
  }
  const freshGroup = async (parent = platform().root) => (await makeGroup(platform(), parent)).uid as string;
  const withdrawn = { withdrawn: "2026-02-02T00:00:00Z" };
  /** The answer to a request about what is below a group. */
  async function counts(group: string, request: Json = {}): Promise<Json[]> {
    return named(await platform().read("SummarizeFindings", { uidp: { descendantsOf: group }, ...request }));
  }
  const high = (open: number, opened = 0, resolved = 0) => ({ level: "LEVEL_HIGH", open, opened, resolved });

  test("are the days that were recorded, and today as it is now", async () => {
    const [a, b] = [freshName("a"), freshName("b")];
    const group = await freshGroup();
    await makeImage(group, [a, b]);
    const first = record(a, "HIGH");
    await importOsv(platform(), first);
    await recordDay(platform(), 4);
    await importOsv(platform(), record(b, "HIGH"));
    await recordDay(platform(), 2);
    await importOsv(platform(), { ...first, ...withdrawn });

    const expected = [
      { day: day(4), open: 1, opened: 1, resolved: 0 },
      { day: day(3), open: 1, opened: 0, resolved: 0 },
      { day: day(2), open: 2, opened: 1, resolved: 0 },
      { day: day(1), open: 2, opened: 0, resolved: 0 },
      { day: day(0), open: 1, opened: 0, resolved: 1 },
    ];
    for (const isRecorded of [false, true]) {
      if (isRecorded) await recordDay(platform(), 0);
      expect(await counts(group, { by: "day", from: day(9), to: day(0) })).toEqual(expected);
      expect(await counts(group, { by: "day", from: day(3), to: day(2) })).toEqual(expected.slice(1, 3));
      expect(await counts(group, { by: "day", from: day(1) })).toEqual(expected.slice(3));
      expect(await counts(group, { by: "day", to: day(-3), from: day(0) })).toEqual(expected.slice(4));
      expect(await counts(group, { to: day(4) })).toEqual([high(1, 1)]);
      expect(await counts(group, { to: day(3) })).toEqual([high(1)]);
      expect(await counts(group, { from: day(4) })).toEqual([high(1, 2, 1)]);
      expect(await counts(group)).toEqual([high(1, 0, 1)]);
      expect(await counts(group, { to: day(5) })).toEqual([]);
      expect(await counts(group, { to: day(-1) })).toEqual([]);
    }
    const { firstDay } = await platform().ok("SummarizeFindings", {});
    expect([day(1), day(0)]).toContain(firstDay); // the first start of the server, perhaps before midnight
  });

  test("count what changes twice on a day", async () => {
    const name = freshName("a");
    const group = await freshGroup();
    await makeImage(group, [name]);
    const [first, second] = [record(name, "HIGH"), record(name, "LOW")];
    await importOsv(platform(), first);
    await recordDay(platform(), 1);
    await importOsv(platform(), second);
    await recordDay(platform(), 1);
    await importOsv(platform(), { ...first, ...withdrawn });
    await recordDay(platform(), 1);
    expect(await counts(group, { by: "level", to: day(1) })).toEqual([
      high(0, 1, 1),
      { level: "LEVEL_LOW", open: 1, opened: 1, resolved: 0 },
    ]);
  });

  test("move to another level without being opened or resolved, and to another id", async () => {
    const name = freshName("a");
    const group = await freshGroup();
    await makeImage(group, [name]);
    const first = record(name, "HIGH");
    await importOsv(platform(), first);
    await recordDay(platform(), 3);
    await importOsv(platform(), { ...first, severity: record(name, "CRITICAL").severity });
    const critical = { level: "LEVEL_CRITICAL", open: 1, opened: 0, resolved: 0 };
    expect(await counts(group)).toEqual([critical]);
    await recordDay(platform(), 1);
    const request = { by: "level,day", from: day(3) };
    const expected = [
      { day: day(3), ...high(1, 1) },
      { day: day(2), ...high(1) },
      { day: day(1), ...critical },
      { day: day(0), ...critical },
    ];
    expect(await counts(group, request)).toEqual(expected);
    const aliases = [`CVE-2026-${1e6 + Math.floor(Math.random() * 1e9)}`];
    await importOsv(platform(), { ...first, aliases, severity: record(name, "CRITICAL").severity });
    const { findings } = await platform().ok("ListFindings", { packageNames: [name] });
    expect(findings).toMatchObject([{ vulnerabilityId: aliases[0], level: "LEVEL_CRITICAL" }]);
    expect(await counts(group, request)).toEqual(expected);
    await recordDay(platform(), 0);
    expect(await counts(group, request)).toEqual(expected);
  });

  test("count a vulnerability once for each repo, by group and by repo, for who may see them", async () => {
    const [a, b] = [freshName("a"), freshName("b")];
    await importOsv(platform(), record(a, "HIGH"));
    await importOsv(platform(), record(b, "LOW"));
    await importOsv(platform(), {
      ...record(b, "HIGH"),
      affected: [...record(a, "HIGH").affected, ...record(b, "HIGH").affected],
    });
    const top = await freshGroup();
    const groups = [await freshGroup(top), await freshGroup(top)].sort() as [string, string];
    const made = [await makeImage(groups[0], [a, b]), await makeImage(groups[1], [a]), await makeImage(groups[1], [b])];
    const [low, two] = [{ level: "LEVEL_LOW", open: 1, opened: 1, resolved: 0 }, high(2, 2)];
    for (const isRecorded of [false, true]) {
      if (isRecorded) await recordDay(platform(), 0);
      expect(await counts(top)).toEqual([high(5, 5), { ...low, open: 2, opened: 2 }]);
      expect(await counts(top, { by: "group, level" })).toEqual([
        { group: groups[0], ...two },
        { group: groups[0], ...low },
        { group: groups[1], ...high(3, 3) },
        { group: groups[1], ...low },
      ]);
      expect(await counts(top, { by: "repo" })).toEqual(
        made
          .map(({ repo }, i) => ({
            repo,
            open: i === 1 ? 2 : 3 - Math.floor(i / 2),
            opened: i === 0 ? 3 : 2,
            resolved: 0,
          }))
          .sort((x, y) => (x.repo < y.repo ? -1 : 1)),
      );
      const { token } = await makeMember(platform(), groups[1], "viewer");
      const seen = await platform().read("SummarizeFindings", { by: "group" }, { as: token });
      expect(named(seen)).toEqual([{ group: groups[1], open: 4, opened: 4, resolved: 0 }]);
      const others = await platform().read("SummarizeFindings", { uidp: { descendantsOf: groups[0] } }, { as: token });
      expect(others.counts).toEqual([]);
      expect(await counts(top, { uidp: { ids: [made[1]!.repo, made[2]!.repo] }, by: "group" })).toEqual([
        { group: groups[1], open: 4, opened: 4, resolved: 0 },
      ]);
      expect(await counts(top, { uidp: { childrenOf: groups[0] } })).toEqual([two, low]);
      expect(await counts(top, { uidp: { childrenOf: top } })).toEqual([]);
    }
  });

  test("end with the tag, and go with the repo", async () => {
    const name = freshName("a");
    await importOsv(platform(), record(name, "HIGH"));
    const group = await freshGroup();
    const { repo, tag, digest } = await makeImage(group, [name]);
    await recordDay(platform(), 1);
    expect(await counts(group)).toEqual([high(1)]);
    await platform().ok("DeleteTag", { uid: tag });
    expect(await counts(group)).toEqual([high(0, 0, 1)]);
    await recordDay(platform(), 0);
    expect(await counts(group)).toEqual([high(0, 0, 1)]);
    await makeTag(platform(), repo, { digest });
    expect(await counts(group)).toEqual([high(1, 1, 1)]);
    expect(await counts(group, { to: day(1) })).toEqual([high(1, 1)]);
    const { tags } = await platform().ok("ListTags", { uidp: { childrenOf: repo } });
    for (const { uid } of tags) await platform().ok("DeleteTag", { uid });
    await platform().ok("DeleteRepo", { uid: repo });
    expect(await counts(group, { from: day(2) })).toEqual([]);
    await recordDay(platform(), 0);
    expect(await counts(group, { from: day(2) })).toEqual([]);
  });

  test("are recorded once by servers that record at the same time", async () => {
    const name = freshName("a");
    const group = await freshGroup();
    for (let i = 0; i < 5; i++) await makeImage(group, [name]);
    await importOsv(platform(), record(name, "HIGH"));
    await recordDay(platform(), 2, 3);
    await importOsv(platform(), record(name, "LOW"));
    await recordDay(platform(), 1, 3);
    expect(await counts(group, { by: "day,level", from: day(2) })).toEqual([
      { day: day(2), ...high(5, 5) },
      { day: day(1), ...high(5) },
      { day: day(1), level: "LEVEL_LOW", open: 5, opened: 5, resolved: 0 },
      { day: day(0), ...high(5) },
      { day: day(0), level: "LEVEL_LOW", open: 5, opened: 0, resolved: 0 },
    ]);
  });

  test("are refused where the request is wrong, or the answer would be too large", async () => {
    for (const by of ["severity", "level,", "level;group"])
      await platform().refused("SummarizeFindings", { by }, "INVALID_ARGUMENT");
    await platform().refused("SummarizeFindings", { from: day(0), to: day(1) }, "INVALID_ARGUMENT");
    await platform().refused("SummarizeFindings", { from: day(-2) }, "INVALID_ARGUMENT");
    const names = [freshName("a"), freshName("b")];
    const group = await freshGroup();
    await makeImage(group, names);
    await importOsv(platform(), record(names[0]!, "HIGH"));
    await importOsv(platform(), record(names[1]!, "LOW"));
    await recordDay(platform(), 5000);
    const request = { uidp: { descendantsOf: group }, by: "day,level" };
    expect(await counts(group, { ...request, from: day(4999) })).toHaveLength(10_000);
    await platform().refused("SummarizeFindings", { ...request, from: day(5000) }, "INVALID_ARGUMENT");
    expect(await counts(group, { ...request, by: "day", from: day(5000) })).toHaveLength(5001);
  });
});
