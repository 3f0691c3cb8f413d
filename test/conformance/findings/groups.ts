/** Alias groups and what is known of each vulnerability, computed from all records at once. */
import type { Json } from "../contract.ts";
import type { RawInputs, RawRecord } from "./inputs.ts";
import { headOf } from "./statements.ts";

/** The levels of the contract, the least first. */
export const levels = ["UNSPECIFIED", "NONE", "LOW", "MEDIUM", "HIGH", "CRITICAL"] as const;
export type Level = (typeof levels)[number];

/** The vectors that records have, with the scores that FIRST's calculator gives. */
export const vectors: Readonly<Record<string, { readonly score: number; readonly level: Level }>> = {
  "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H": { score: 9.8, level: "CRITICAL" },
  "CVSS:3.1/AV:N/AC:L/PR:H/UI:N/S:U/C:H/I:H/A:H": { score: 7.2, level: "HIGH" },
  "CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N": { score: 6.1, level: "MEDIUM" },
  "CVSS:3.1/AV:L/AC:H/PR:L/UI:N/S:U/C:L/I:N/A:N": { score: 2.5, level: "LOW" },
};

/** A vulnerability. */
export interface Group {
  readonly id: string;
  /** Sorted, without the id. */
  readonly aliases: readonly string[];
  /** Of its ids, by feed and id. */
  readonly records: readonly RawRecord[];
  readonly level: Level;
  readonly score: number | undefined;
  readonly epss: number | undefined;
  readonly percentile: number | undefined;
  /** The required action. */
  readonly exploited: string | undefined;
}

/** All vulnerabilities. */
export function groupsOf(inputs: RawInputs): Group[] {
  const records = [...inputs.records.values()];
  const groups = idSets(records).map((ids) => groupOf([...ids].sort(), records, inputs));
  // Of an id that only another CVE claims, nothing is known.
  return groups.filter((group) => group.records.length > 0);
}

/**
 * Each CVE with the ids that are nearer to it than to any other, or as near, over claims that pass no CVE; and what is
 * joined with no CVE at all.
 */
function idSets(records: readonly RawRecord[]): Set<string>[] {
  const neighbours = new Map<string, Set<string>>();
  const join = (a: string, b: string) => neighbours.set(a, (neighbours.get(a) ?? new Set()).add(b));
  for (const record of records) {
    const { id, aliases } = headOf(record);
    join(id, id);
    for (const alias of aliases) {
      join(id, alias);
      join(alias, id);
    }
  }
  const cves = [...neighbours.keys()].filter(isCve);
  const distances = new Map(cves.map((cve) => [cve, distancesFrom(cve, neighbours)]));
  const sets = new Map(cves.map((cve) => [cve, new Set([cve])]));
  const alone = new Set<string>();
  for (const id of neighbours.keys()) {
    if (isCve(id)) continue;
    const nearest = Math.min(...cves.map((cve) => distances.get(cve)!.get(id) ?? Number.POSITIVE_INFINITY));
    if (nearest === Number.POSITIVE_INFINITY) alone.add(id);
    else for (const cve of cves) if (distances.get(cve)!.get(id) === nearest) sets.get(cve)!.add(id);
  }
  const rest: Set<string>[] = [];
  for (const id of alone)
    if (!rest.some((set) => set.has(id))) rest.push(new Set(distancesFrom(id, neighbours).keys()));
  return [...sets.values(), ...rest];
}

/** How many claims each id is away, over ids that are no CVE. */
function distancesFrom(start: string, neighbours: ReadonlyMap<string, ReadonlySet<string>>): Map<string, number> {
  const found = new Map([[start, 0]]);
  for (const [id, distance] of found)
    for (const other of neighbours.get(id)!) if (!found.has(other) && !isCve(other)) found.set(other, distance + 1);
  return found;
}

function isCve(id: string): boolean {
  return id.startsWith("CVE-");
}

function groupOf(ids: readonly string[], all: readonly RawRecord[], { epss, exploited }: RawInputs): Group {
  const id = ids.find(isCve) ?? ids.find((each) => each.startsWith("GHSA-")) ?? ids[0]!;
  const records = all
    .filter((record) => ids.includes(record.id))
    .sort((a, b) => (`${a.feed}\0${a.id}` < `${b.feed}\0${b.id}` ? -1 : 1));
  const rated = records.filter((record) => headOf(record).withdrawMs === undefined && headOf(record).rating);
  const counting = rated
    .map((record) => ({ isOfNvd: isCve(record.id), ...vectors[headOf(record).rating!]! }))
    .sort((a, b) => Number(a.isOfNvd) - Number(b.isOfNvd) || b.score - a.score)[0];
  const score = epss.get(id);
  return {
    id,
    aliases: ids.filter((each) => each !== id),
    records,
    level: counting?.level ?? "UNSPECIFIED",
    score: counting?.score,
    epss: score && score.epss / 1_000_000,
    percentile: score && score.percentile / 1_000_000,
    exploited: exploited.get(id),
  };
}

/** A vulnerability, as GetVulnerability answers, in the form of {@link vulnerabilityIn}. */
export function vulnerabilityAnswer(group: Group): object {
  const heads = group.records.map(headOf);
  const inForce = heads.filter(({ withdrawMs }) => withdrawMs === undefined);
  const said = inForce.length > 0 ? inForce : heads;
  return {
    id: group.id,
    aliases: group.aliases,
    summary: said.find(({ summary }) => summary !== "")?.summary ?? "",
    level: group.level,
    score: group.score,
    epss: group.epss,
    percentile: group.percentile,
    exploited: group.exploited,
    modifyMs: Math.max(...heads.map(({ modifyMs }) => modifyMs)),
    withdrawMs: inForce.length > 0 ? undefined : Math.max(...heads.map(({ withdrawMs }) => withdrawMs!)),
    ratings: [...new Set(inForce.flatMap(({ id, rating }) => (rating ? [`${sourceOf(id)} ${rating}`] : [])))].sort(),
    records: heads.map(({ feed, id, aliases }) => `${feed} ${id} ${[...new Set(aliases)].sort()}`),
    packages: [...new Set(group.records.flatMap(packagesOf))].sort(),
  };
}

function sourceOf(id: string): string {
  const prefix = id.slice(0, id.indexOf("-")).toLowerCase();
  return prefix === "cve" ? "nvd" : prefix;
}

/** Of each package that a record is about: what says so, and the fixes. */
function packagesOf(record: RawRecord): string[] {
  const { feed, id, withdrawMs } = headOf(record);
  if (withdrawMs !== undefined) return [];
  if ("advisory" in record) {
    const { name, events } = record.advisory;
    const newest = events.reduce((a, b) => (b.timeMs > a.timeMs ? b : a));
    const { kind, fixedVersion = "" } = newest;
    if (kind === "FALSE_POSITIVE" || fixedVersion === "0") return [];
    return [`${feed} ${id} pkg:apk/wolfi/${name}  ${kind === "FIXED" ? fixedVersion : ""}`];
  }
  return (record.osv.affected as Json[]).map(({ package: { ecosystem, name }, ranges }) => {
    const [kind, release] = ecosystem.split(":");
    const key = { npm: "npm/", Wolfi: "apk/wolfi/", Debian: "deb/debian/" }[kind as string]!;
    const fixes = new Set(ranges.flatMap(({ events }: Json) => events.flatMap(({ fixed }: Json) => fixed ?? [])));
    return `${feed} ${id} pkg:${key}${name} ${release === undefined ? "" : `debian-${release}`} ${[...fixes].sort()}`;
  });
}

/** What of an answer is compared. */
export function vulnerabilityIn(message: Json): object {
  const ms = (time: string | undefined) => (time === undefined ? undefined : Date.parse(time));
  return {
    id: message.id,
    aliases: [...(message.aliases ?? [])].sort(),
    summary: message.summary ?? "",
    level: (message.level ?? "LEVEL_UNSPECIFIED").slice("LEVEL_".length),
    score: message.score,
    epss: message.epss,
    percentile: message.epssPercentile,
    exploited: message.knownExploited?.requiredAction,
    modifyMs: ms(message.modifyTime),
    withdrawMs: ms(message.withdrawTime),
    ratings: (message.ratings ?? []).map(({ source, vector }: Json) => `${source} ${vector}`).sort(),
    records: (message.records ?? []).map(({ source, id, aliases = [] }: Json) => `${source} ${id} ${aliases}`),
    packages: (message.affected ?? [])
      .map(
        ({ source, id, packageUrl, distro = "", fixedVersions = [] }: Json) =>
          `${source} ${id} ${packageUrl} ${distro} ${[...new Set(fixedVersions)].sort()}`,
      )
      .sort(),
  };
}
