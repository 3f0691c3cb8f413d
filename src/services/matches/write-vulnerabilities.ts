/** Writes vulnerabilities from the records of their alias groups, from what these say of packages, EPSS and KEV. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  KnownExploitedSchema,
  type VulnerabilityRecordSchema,
  VulnerabilitySchema,
} from "../../../gen/platform/findings/v1/vulnerabilities_pb.ts";
import type { AliasGroup, RatingFact } from "../../matching/index.ts";
import { messageOf, saveResource } from "../../resource/index.ts";
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { type Affected, affectedOf } from "./affected.ts";
import { affectedMessages } from "./affected-messages.ts";
import { type ExploitScore, isCve, readScores } from "./exploit-scores.ts";
import { type KnownExploit, readKnownExploits } from "./known-exploits.ts";
import { ratingMessages } from "./ratings.ts";
import type { StoredRecord } from "./records.ts";
import { changeRevision, lockMatches } from "./revision.ts";
import { affectedPackages } from "./tables.ts";
import { vulnerabilities } from "./vulnerabilities.ts";

/** Alias groups that may have changed. Vulnerabilities are named by their uids. */
interface ChangedGroups {
  /** All groups of the ids that were read. */
  readonly known: ReadonlyMap<string, AliasGroup>;
  /** Those whose records have changed, that have more or fewer of them, or that are gone. */
  readonly touched: ReadonlySet<string>;
  readonly records: ReadonlyMap<string, readonly StoredRecord[]>;
}

/** The rows that are read at once. */
const portion = 1000;
/** The rows of one vulnerability. */
const maxRows = 10_000;

/** Writes the vulnerabilities that differ, and removes those without records. */
export async function rewriteVulnerabilities(
  session: WriteSession,
  { known, touched, records }: ChangedGroups,
  nowMs: number,
): Promise<void> {
  const { table } = vulnerabilities;
  await lockMatches(session);
  const stored = await session.getMany(table, [...new Set([...known.keys(), ...touched])]);
  const removed = [...stored.keys()].filter((uid) => !records.has(uid) && touched.has(uid));
  for (const uid of removed) await session.remove(table, uid);
  const changed = [...records.keys()].filter(
    (uid) => touched.has(uid) || !hasIds(stored.get(uid), known.get(uid)!.ids),
  );
  // Components have no findings of a new one but those that its matches bring.
  const differing = [...removed, ...changed.filter((uid) => stored.has(uid))];
  await changeRevision(session, { components: [], vulnerabilities: differing });
  const cves = changed.map((uid) => known.get(uid)!.id).filter(isCve);
  const [scores, exploits] = [await readScores(session, cves), await readKnownExploits(session, cves)];
  for (const uid of changed) {
    const group = known.get(uid)!;
    const affected = await affectedIn(session, uid);
    const exploit = { score: scores.get(group.id), entry: exploits.get(group.id) };
    const message = vulnerabilityOf(group, records.get(uid)!, affected, exploit);
    await saveResource(vulnerabilities, session, { uid, parent: "", message, nowMs, existing: stored.get(uid) });
  }
}

/** Writes EPSS and KEV of some CVEs into their vulnerabilities. */
export async function rewriteExploits(session: WriteSession, cves: readonly string[], nowMs: number): Promise<void> {
  const { table } = vulnerabilities;
  const where = [{ column: "id", in: cves }];
  const orderBy = [{ column: "id", descending: false }];
  if (cves.length === 0) return;
  await lockMatches(session);
  const [scores, exploits] = [await readScores(session, cves), await readKnownExploits(session, cves)];
  const changed: string[] = [];
  for await (const rows of session.pages(table, { where, orderBy, limit: portion })) {
    for (const row of rows) {
      const message = messageOf(vulnerabilities, row);
      setExploit(message, { score: scores.get(message.id), entry: exploits.get(message.id) });
      await saveResource(vulnerabilities, session, { uid: row.uid, parent: "", message, nowMs, existing: row });
      changed.push(row.uid);
    }
  }
  await changeRevision(session, { components: [], vulnerabilities: changed });
}

/** What is known of the exploits of a CVE. */
interface Exploit {
  readonly score: ExploitScore | undefined;
  readonly entry: KnownExploit | undefined;
}

type Vulnerability = ReturnType<typeof vulnerabilityOf>;

function setExploit(message: Vulnerability, { score, entry }: Exploit): void {
  message.epss = score && score.epss / 1_000_000;
  message.epssPercentile = score && score.percentile / 1_000_000;
  message.knownExploited =
    entry &&
    create(KnownExploitedSchema, {
      addTime: timestampFromMs(entry.addMs),
      ...(entry.dueMs !== undefined && { dueTime: timestampFromMs(entry.dueMs) }),
      requiredAction: entry.requiredAction,
      knownRansomware: entry.isUsedByRansomware,
    });
}

function vulnerabilityOf(
  { id, ids }: AliasGroup,
  records: readonly StoredRecord[],
  affected: readonly Affected[],
  exploit: Exploit,
) {
  const sorted = [...records].sort((a, b) => compareTexts(nameOf(a), nameOf(b)));
  const inForce = sorted.filter(({ facts }) => facts.withdrawMs === undefined);
  const said = inForce.length > 0 ? inForce : sorted;
  const ratings: RatingFact[] = [
    ...inForce.flatMap(({ facts }) => facts.ratings),
    ...affected.flatMap((each) => each.ratings ?? []),
  ];
  const { messages, counting } = ratingMessages(ratings);
  const publishMs = least(said.map(({ facts }) => facts.publishMs));
  const modifyMs = greatest(sorted.map(({ facts }) => facts.modifyMs));
  const withdrawMs = inForce.length > 0 ? undefined : greatest(sorted.map(({ facts }) => facts.withdrawMs));
  const message = create(VulnerabilitySchema, {
    id,
    aliases: ids.filter((each) => each !== id),
    summary: said.find(({ facts }) => facts.summary !== "")?.facts.summary ?? "",
    ...(counting && { level: counting.level, ...(counting.score !== undefined && { score: counting.score }) }),
    ratings: messages,
    ...(publishMs !== undefined && { publishTime: timestampFromMs(publishMs) }),
    ...(modifyMs !== undefined && { modifyTime: timestampFromMs(modifyMs) }),
    ...(withdrawMs !== undefined && { withdrawTime: timestampFromMs(withdrawMs) }),
    records: recordMessages(sorted),
    affected: affectedMessages(affected),
    weaknesses: distinct(said.flatMap(({ facts }) => facts.weaknesses)).sort(compareWeaknesses),
  });
  setExploit(message, exploit);
  return message;
}

/** One message for all records of one feed and id, such as those of the packages of a secdb. */
function recordMessages(sorted: readonly StoredRecord[]): MessageInitShape<typeof VulnerabilityRecordSchema>[] {
  return [...Map.groupBy(sorted, nameOf).values()].map((same) => {
    const facts = same.map((record) => record.facts);
    const publishMs = least(facts.map((each) => each.publishMs));
    const modifyMs = greatest(facts.map((each) => each.modifyMs));
    const isInForce = facts.some(({ withdrawMs }) => withdrawMs === undefined);
    const withdrawMs = isInForce ? undefined : greatest(facts.map((each) => each.withdrawMs));
    return {
      source: same[0]!.feed,
      id: facts[0]!.id,
      aliases: distinct(facts.flatMap(({ aliases }) => aliases)).sort(compareTexts),
      upstream: distinct(facts.flatMap(({ upstream }) => upstream)).sort(compareTexts),
      related: distinct(facts.flatMap(({ related }) => related)).sort(compareTexts),
      ...(publishMs !== undefined && { publishTime: timestampFromMs(publishMs) }),
      ...(modifyMs !== undefined && { modifyTime: timestampFromMs(modifyMs) }),
      ...(withdrawMs !== undefined && { withdrawTime: timestampFromMs(withdrawMs) }),
    };
  });
}

async function affectedIn(session: ReadSession, vulnerability: string): Promise<Affected[]> {
  const where = [{ column: "vulnerability", equals: vulnerability }];
  const orderBy = [{ column: "vulnerability", descending: false }];
  const found: Affected[] = [];
  for await (const rows of session.pages(affectedPackages, { where, orderBy, limit: portion })) {
    found.push(...rows.map(affectedOf));
    if (found.length >= maxRows) break;
  }
  return found;
}

function hasIds(row: Row | undefined, ids: readonly string[]): boolean {
  const stored = row?.columns.identifiers as readonly string[] | undefined;
  return stored !== undefined && JSON.stringify([...stored].sort()) === JSON.stringify(ids);
}

function nameOf({ feed, facts }: StoredRecord): string {
  return `${feed}\0${facts.id}`;
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** By their numbers: `CWE-9` is before `CWE-79`. */
function compareWeaknesses(a: string, b: string): number {
  return Number(a.slice("CWE-".length)) - Number(b.slice("CWE-".length));
}

function least(times: readonly (number | undefined)[]): number | undefined {
  return times.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined);
}

function greatest(times: readonly (number | undefined)[]): number | undefined {
  return times.reduce((a, b) => (a === undefined || (b !== undefined && b > a) ? b : a), undefined);
}
