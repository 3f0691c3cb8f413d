/**
 * The affected packages of OSV records. What a record says of one package in several items is one fact. A package that
 * cannot be matched is kept with the reason: its ecosystem has no type of package URL, or only commits are named.
 */
import {
  type AffectedFact,
  type AffectedRange,
  keyOfOsvPackage,
  type PackageFact,
  type RangeEvent,
  typeOfKey,
} from "../../../matching/index.ts";
import { isDistributionType } from "../../../package-url.ts";
import type { Fields, Unread } from "../../records/fields.ts";
import { readRatings } from "./ratings.ts";

const maxAffected = 10_000;
const maxRanges = 10_000;
const maxEvents = 10_000;
const versions = { maxItems: 100_000, maxLength: 1024 };
const maxNameLength = 1024;
const maxPurlLength = 2048;
/** Of a package that is not matched, which are only shown. */
const maxShownVersions = 1000;

/** The names of the events of a range. An object of an early version of the schema may have several. */
const eventNames = ["introduced", "fixed", "last_affected", "limit"] as const;
const rangeKinds: ReadonlySet<string> = new Set(["ECOSYSTEM", "SEMVER", "GIT"]);

/** The packages of a record. @param source of the ratings. Errors: FeedRefusal. */
export function readAffected(record: Fields, source: string, unread: Unread): PackageFact[] {
  const facts = new Map<string, PackageFact>();
  for (const item of record.objects("affected", maxAffected)) {
    const read = readItem(item, source, unread);
    const key = JSON.stringify([read.key, read.name]);
    const before = facts.get(key);
    facts.set(key, before === undefined ? read : united(before, read));
  }
  return [...facts.values()].map(withReason);
}

/** What an item says, with the ranges of commits. */
function readItem(item: Fields, source: string, unread: Unread): PackageFact {
  const ratings = readRatings(item, source, "affected[].severity[].score", unread);
  const rated = ratings.length > 0 && { ratings };
  const ranges = item.objects("ranges", maxRanges).map(readRange);
  const listed = [...new Set(item.texts("versions", versions))];
  const about = item.optionalObject("package");
  const ecosystem = about?.optionalText("ecosystem", maxNameLength) ?? "";
  const name = about?.optionalText("name", maxNameLength) ?? "";
  const purl = about?.optionalText("purl", maxPurlLength) ?? "";
  const found = about === undefined ? onlyCommits : keyOfOsvPackage({ ecosystem, name, ...(purl !== "" && { purl }) });
  if (typeof found === "string") {
    const fact = { key: "", distro: "", ranges, versions: listed.slice(0, maxShownVersions) };
    const named = [ecosystem, name].filter((part) => part !== "").join(" ");
    return { kind: "ecosystem", key: "", facts: [fact], name: named, unmatched: found, ...rated };
  }
  const { key, distro, isSource } = found;
  const fact = { key, distro, ...(isSource !== undefined && { isSource }), ranges, versions: listed };
  return { kind: isDistributionType(typeOfKey(key)) ? "advisory" : "ecosystem", key, facts: [fact], ...rated };
}

function readRange(range: Fields): AffectedRange {
  const kind = range.text("type");
  if (!rangeKinds.has(kind)) throw range.refusal("type", `${JSON.stringify(kind)} is none of ECOSYSTEM, SEMVER, GIT`);
  const events = range.objects("events", maxEvents).flatMap((event) =>
    eventNames.flatMap((name): RangeEvent[] => {
      const version = event.optionalText(name, versions.maxLength);
      return version === undefined ? [] : [{ [name]: version } as unknown as RangeEvent];
    }),
  );
  return { kind: kind as AffectedRange["kind"], events };
}

const onlyCommits = "names commits, and no versions";

/** Leaves the ranges of commits out beside others, and says why nothing can be matched. */
function withReason({ unmatched, ...fact }: PackageFact): PackageFact {
  if (unmatched !== undefined) return { ...fact, unmatched };
  const facts = fact.facts.map((each) => ({ ...each, ranges: each.ranges.filter(({ kind }) => kind !== "GIT") }));
  if (facts.some(({ ranges, versions: listed }) => ranges.length > 0 || listed.length > 0)) return { ...fact, facts };
  return { ...fact, unmatched: fact.facts.some(({ ranges }) => ranges.length > 0) ? onlyCommits : "names no versions" };
}

/** Facts about the same release are one. */
function united(a: PackageFact, b: PackageFact): PackageFact {
  const facts = new Map<string, AffectedFact>();
  for (const fact of [...a.facts, ...b.facts]) {
    const release = JSON.stringify([fact.distro, fact.isSource]);
    const before = facts.get(release);
    const ranges = [...(before?.ranges ?? []), ...fact.ranges];
    facts.set(release, { ...fact, ranges, versions: [...new Set([...(before?.versions ?? []), ...fact.versions])] });
  }
  const ratings = [...(a.ratings ?? []), ...(b.ratings ?? [])];
  return { ...a, facts: [...facts.values()], ...(ratings.length > 0 && { ratings }) };
}
