/**
 * Brings what depends on records up to date: their alias groups, what they say of packages in each group, the
 * matches of that, and the vulnerabilities.
 *
 * Ids are linked through records. Only records that are linked to a changed one, before or after the change, can be of
 * another group than before: these are read, and no others. So the result depends on what is stored, and not on the
 * order in which it came.
 */
import { type AliasGroup, groupAliases, type PackageFact } from "../../matching/index.ts";
import { fixedUid } from "../../new-uid.ts";
import { newRow } from "../../resource/index.ts";
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { type Affected, affectedContent, affectedOf, timesOf } from "./affected.ts";
import { refreshMatches, regroupMatches } from "./component-matches.ts";
import {
  affectedUid,
  identifiersOf,
  packageText,
  type RecordChange,
  type RecordPackage,
  recordOf,
  type StoredRecord,
} from "./records.ts";
import { affectedPackages, vulnerabilityRecords } from "./tables.ts";
import { rewriteVulnerabilities } from "./write-vulnerabilities.ts";

/** The records that a transaction has changed. */
interface ChangedRecords {
  readonly changes: ReadonlyMap<string, RecordChange>;
  /** The ids that they name, or named before. */
  readonly ids: ReadonlySet<string>;
}

/**
 * The ids whose records are read at once, and the records. Hundreds of records may name one id, and each further page
 * finds them all again: few ids whose records fit into a page cost least.
 */
const idPortion = 50;
const recordPortion = 5000;

/** The uid of the vulnerability that is known by an id. */
export function vulnerabilityUid(id: string): string {
  return fixedUid("findings vulnerability", id);
}

/** Brings everything up to date. @param nowMs the time of the changes. */
export async function settleRecords(
  session: WriteSession,
  { changes, ids }: ChangedRecords,
  nowMs: number,
): Promise<void> {
  const records = await linkedRecords(session, ids);
  const groups = groupAliases([...records.values()].map(({ record }) => record.facts));
  const groupsOf = uidsById(groups);
  /** The vulnerabilities whose records have changed. */
  const touched = new Set<string>();
  const rows = new RowChanges();
  for (const [uid, { before }] of changes) {
    for (const group of before?.vulnerabilities ?? []) touched.add(group);
    if (before !== undefined && !records.has(uid)) rows.removeAll(before);
  }
  for (const { record, row } of records.values()) {
    const after = groupsOf.get(record.facts.id)!;
    const change = changes.get(record.uid);
    const before = change === undefined ? record : change.before;
    const isMoved = before?.vulnerabilities.join(" ") !== after.join(" ");
    if (change === undefined && !isMoved) continue;
    for (const group of [...after, ...(before?.vulnerabilities ?? [])]) touched.add(group);
    rows.replace({ record, before, after, facts: change?.packages });
    if (row.columns.vulnerabilities !== after.join(" "))
      await session.setColumns(vulnerabilityRecords, record.uid, { vulnerabilities: after.join(" ") });
  }
  await rows.write(session, nowMs);
  const known = new Map(groups.map((group) => [vulnerabilityUid(group.id), group]));
  await rewriteVulnerabilities(session, { known, touched, records: recordsByGroup(records, groupsOf) }, nowMs);
}

/** The records that are linked to these ids, by uid. */
async function linkedRecords(session: ReadSession, ids: ReadonlySet<string>) {
  const found = new Map<string, { readonly record: StoredRecord; readonly row: Row }>();
  const seen = new Set(ids);
  for (let open = [...seen]; open.length > 0; ) {
    const next: string[] = [];
    for (let start = 0; start < open.length; start += idPortion) {
      const where = [{ column: "identifiers", hasAny: open.slice(start, start + idPortion) }];
      for await (const rows of session.pages(vulnerabilityRecords, { where, limit: recordPortion })) {
        for (const row of rows) {
          if (found.has(row.uid)) continue;
          const record = recordOf(row);
          found.set(row.uid, { record, row });
          for (const id of identifiersOf(record.facts)) {
            if (seen.has(id)) continue;
            seen.add(id);
            next.push(id);
          }
        }
      }
    }
    open = next;
  }
  return found;
}

/** The uids of the vulnerabilities of each id, sorted. */
function uidsById(groups: readonly AliasGroup[]): ReadonlyMap<string, readonly string[]> {
  const uids = new Map<string, string[]>();
  for (const { id, ids } of groups) {
    const uid = vulnerabilityUid(id);
    for (const each of ids) {
      const others = uids.get(each);
      if (others === undefined) uids.set(each, [uid]);
      else others.push(uid);
    }
  }
  for (const all of uids.values()) all.sort();
  return uids;
}

function recordsByGroup(
  records: ReadonlyMap<string, { readonly record: StoredRecord }>,
  groupsOf: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly StoredRecord[]> {
  const byGroup = new Map<string, StoredRecord[]>();
  for (const { record } of records.values()) {
    for (const group of groupsOf.get(record.facts.id)!) {
      const others = byGroup.get(group);
      if (others === undefined) byGroup.set(group, [record]);
      else others.push(record);
    }
  }
  return byGroup;
}

/** A record whose packages are written again. */
interface Replaced {
  readonly record: StoredRecord;
  readonly before: StoredRecord | undefined;
  /** The uids of its vulnerabilities now. */
  readonly after: readonly string[];
  /** What it says of packages; undefined where that has not changed. */
  readonly facts: readonly PackageFact[] | undefined;
}

/** A row about a package that is to be there. */
interface Wanted {
  readonly record: StoredRecord;
  readonly vulnerability: string;
  readonly fact: PackageFact | undefined;
  /** A row that says the same, if it is stored. */
  readonly likeUid: string;
}

/** What changes in the rows about packages. */
class RowChanges {
  readonly #removed = new Set<string>();
  readonly #written = new Map<string, Wanted>();
  /** Uids by the vulnerability that they move to. */
  readonly #moved = new Map<string, string[]>();

  removeAll(record: StoredRecord): void {
    for (const uid of rowsOf(record.packages, record.uid, record.vulnerabilities).keys()) this.#removed.add(uid);
  }

  replace({ record, before, after, facts }: Replaced): void {
    const stored = rowsOf(before?.packages ?? [], record.uid, before?.vulnerabilities ?? []);
    const factOf = new Map(facts?.map((fact) => [packageText(fact), fact]));
    for (const [uid, { vulnerability, of, first }] of rowsOf(record.packages, record.uid, after)) {
      const row = stored.get(uid);
      stored.delete(uid);
      if (row !== undefined && row.vulnerability !== vulnerability) this.#move(uid, vulnerability);
      if (row !== undefined && row.of.digest === of.digest) continue;
      this.#written.set(uid, { record, vulnerability, fact: factOf.get(packageText(of)), likeUid: first });
    }
    for (const uid of stored.keys()) this.#removed.add(uid);
  }

  /** Writes the rows, and then the matches. */
  async write(session: WriteSession, nowMs: number): Promise<void> {
    for (const [vulnerability, uids] of this.#moved) {
      for (const uid of uids) await session.setColumns(affectedPackages, uid, { vulnerability });
      await regroupMatches(session, uids, vulnerability);
    }
    const uids = [...this.#written].flatMap(([uid, { fact, likeUid }]) =>
      fact === undefined ? [uid, likeUid] : [uid],
    );
    const stored = await session.getMany(affectedPackages, uids);
    const saved: Affected[] = [];
    for (const [uid, { record, vulnerability, fact, likeUid }] of this.#written) {
      const { id, modifyMs } = record.facts;
      const said: PackageFact = fact ?? packageFactOf(affectedOf(stored.get(likeUid)!));
      const row = stored.get(uid);
      const times = timesOf(said, row && affectedOf(row), nowMs);
      const content = affectedContent({ ...said, ...times, id, modifyMs, feed: record.feed, vulnerability });
      const written =
        row === undefined
          ? await session.insert(affectedPackages, newRow(uid, "", nowMs, content))
          : await session.update(affectedPackages, { ...row, ...content, updateTimeUs: nowMs * 1000 });
      if (said.key !== "") saved.push(affectedOf(written));
    }
    for (const uid of this.#removed) await session.remove(affectedPackages, uid);
    if (saved.length > 0 || this.#removed.size > 0)
      await refreshMatches(session, { saved, removed: [...this.#removed] }, nowMs);
  }

  #move(uid: string, vulnerability: string): void {
    const others = this.#moved.get(vulnerability);
    if (others === undefined) this.#moved.set(vulnerability, [uid]);
    else others.push(uid);
  }
}

function packageFactOf({ kind, key, facts, events, subcomponent, name, unmatched, ratings }: Affected): PackageFact {
  return { kind, key, facts, events, subcomponent, name, unmatched, ratings };
}

/** The rows of packages in each vulnerability, by uid. `first` is the row of the package in the first one. */
function rowsOf(packages: readonly RecordPackage[], record: string, vulnerabilities: readonly string[]) {
  const rows = new Map<
    string,
    { readonly vulnerability: string; readonly of: RecordPackage; readonly first: string }
  >();
  for (const of of packages) {
    const first = affectedUid(record, of, 0);
    for (const [place, vulnerability] of vulnerabilities.entries())
      rows.set(place === 0 ? first : affectedUid(record, of, place), { vulnerability, of, first });
  }
  return rows;
}
