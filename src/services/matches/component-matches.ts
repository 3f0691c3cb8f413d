/**
 * Matches: what each record of a feed says about each component. They are written in the transaction that adds the
 * component or changes what is affected, so that they are never stale. A match that ends keeps its times.
 */
import {
  type AffectedPackage,
  type ComponentKey,
  componentKeys,
  type FindingState,
  type FixState,
  statusOfEvents,
  type UnmatchedReason,
} from "../../matching/index.ts";
import { fixedUid } from "../../new-uid.ts";
import { newRow } from "../../resource/index.ts";
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { type Affected, affectedByKey, type ComparableAffected, comparable } from "./affected.ts";
import { componentsWithKeys, type StoredComponent } from "./components.ts";
import { changeRevision, lockMatches } from "./revision.ts";
import { componentMatches } from "./tables.ts";

/** What a record says about a component. */
export interface Statement extends Pick<Affected, "feed" | "id" | "kind" | "modifyMs"> {
  /** The uid of the vulnerability. */
  readonly vulnerability: string;
  readonly state: FindingState;
  readonly fixState: FixState;
  /** "" when none is known. */
  readonly fixedVersion: string;
  /** As {@link statusOfEvents} has it; "" for none. */
  readonly justification: string;
  /** The names of the parts of the package that it is about; absent if it is about the whole package. */
  readonly parts?: readonly string[];
  /** Whether it is about the source package, and not about the package itself. */
  readonly isOfOrigin: boolean;
}

/** A statement, and since when it is known. Times are in milliseconds since 1970. */
export interface Match extends Statement {
  readonly sinceMs: number;
  /** When it ended; absent while it holds. */
  readonly untilMs?: number | undefined;
}

/** The values whose rows are read at once, and the rows: those of so many values fit into a page. */
const portion = 300;
const rowPortion = 5000;

/** The parts of a package that are kept of a record: scanners find few. */
const maxParts = 100;

/** What is said of those with any of some keys. Of equal keys, as of a source package of the same name, each once. */
export function saidOf<T>(keys: readonly ComponentKey[], byKey: ReadonlyMap<string, readonly T[]>): readonly T[] {
  const [own, source] = keys;
  const ofOwn = byKey.get(own!.key) ?? [];
  const ofSource = source === undefined || source.key === own!.key ? [] : (byKey.get(source.key) ?? []);
  return ofSource.length === 0 ? ofOwn : [...ofOwn, ...ofSource];
}

/**
 * What a record says about the component with these keys; undefined when it says nothing about it, or the reason why it
 * is not known what it says.
 */
export function statementOf(
  keys: readonly ComponentKey[],
  affected: ComparableAffected,
): Statement | UnmatchedReason | undefined {
  for (const at of keys) {
    const said = affected.versions.evaluate([at]);
    if (said !== undefined) return statementAt(at, said, affected);
  }
  return undefined;
}

function statementAt(
  { type, version, isSource }: ComponentKey,
  { isAffected, fixedVersion = "", reason }: ReturnType<AffectedPackage["evaluate"]> & object,
  { events, facts, subcomponent, feed, id, kind, modifyMs, vulnerability }: Affected,
): Statement | UnmatchedReason | undefined {
  const common = { feed, id, kind, modifyMs, vulnerability, isOfOrigin: isSource };
  // What is said of a part of a package, or of some of its versions, is said of nothing else.
  if (subcomponent !== undefined) return undefined;
  if (events !== undefined) {
    if (isAffected !== true && facts.some(({ versions }) => versions.length > 0)) return reason;
    const status = statusOfEvents(events, type, version);
    if (status === undefined) return undefined;
    const { state, fixState, justification } = status;
    const parts = [...new Set(events.flatMap(({ part }) => part ?? []))].slice(0, maxParts);
    const ofParts = parts.length > 0 && { parts };
    return { ...common, state, fixState, fixedVersion: status.fixedVersion, justification, ...ofParts };
  }
  if (isAffected !== true) return reason;
  const fixState = fixedVersion === "" ? "UNKNOWN" : "FIXED";
  return { ...common, state: "AFFECTED", fixState, fixedVersion, justification: "" };
}

/**
 * Since when a record has been saying something about a component without a break, in milliseconds since 1970. It does
 * not depend on when the component was stored.
 * @param affected which says something now.
 */
export function sayingSinceMs(keys: readonly ComponentKey[], affected: Affected): number {
  let { sinceMs } = affected;
  for (const before of affected.earlier) {
    if (typeof statementOf(keys, comparable({ ...affected, ...before })) !== "object") break;
    sinceMs = before.sinceMs;
  }
  return sinceMs;
}

/** What the row of a match has: a statement that holds or has ended, and why it is not known what is said now. */
interface StoredMatch extends Partial<Omit<Match, "vulnerability">> {
  readonly reason?: UnmatchedReason | undefined;
}

/** Writes what is known about components that were just stored. */
export async function matchComponents(
  session: WriteSession,
  added: readonly StoredComponent[],
  nowMs: number,
): Promise<void> {
  const components = added.map((component) => ({ id: component.id, keys: componentKeys(component) }));
  const known = await affectedByKey(session, new Set(components.flatMap(({ keys }) => keys.map(({ key }) => key))));
  for (const { id, keys } of components)
    for (const affected of saidOf(keys, known)) {
      const said = statementOf(keys, affected);
      if (said === undefined) continue;
      const match = typeof said === "string" ? { reason: said } : { ...said, sinceMs: sayingSinceMs(keys, affected) };
      await insertMatch(session, id, affected, match, nowMs);
    }
}

/**
 * Brings matches up to date after rows of `affected_packages` were written or removed, in the same transaction.
 * @param removed uids of rows.
 */
export async function refreshMatches(
  session: WriteSession,
  { saved, removed }: { readonly saved: readonly Affected[]; readonly removed: readonly string[] },
  nowMs: number,
): Promise<void> {
  if (saved.length === 0 && removed.length === 0) return;
  await lockMatches(session);
  const stored = await matchRowsOf(session, [...removed, ...saved.map(({ uid }) => uid)]);
  const changed = new Set([...stored.values()].flat().map(idOf));
  for (const uid of removed) for (const row of stored.get(uid) ?? []) await endMatch(session, row, nowMs);
  const byKey = Map.groupBy(saved.map(comparable), ({ key }) => key);
  const holding = new Map(saved.map(({ uid }) => [uid, new Set<string>()]));
  if (byKey.size > 0)
    for await (const components of componentsWithKeys(session, [...byKey.keys()]))
      for (const component of components) {
        const keys = componentKeys(component);
        for (const affected of saidOf(keys, byKey)) {
          const said = statementOf(keys, affected);
          if (said === undefined) continue;
          const row = stored.get(affected.uid)?.find((each) => idOf(each) === component.id);
          if (row === undefined) {
            const match = typeof said === "string" ? { reason: said } : { ...said, sinceMs: nowMs };
            await insertMatch(session, component.id, affected, match, nowMs);
          } else await saveMatch(session, affected, said, row, nowMs);
          holding.get(affected.uid)!.add(component.id);
          changed.add(component.id);
        }
      }
  for (const { uid } of saved)
    for (const row of stored.get(uid) ?? []) if (!holding.get(uid)!.has(idOf(row))) await endMatch(session, row, nowMs);
  await changeRevision(session, { components: [...changed], vulnerabilities: [] });
}

/** Moves the matches of these rows of `affected_packages` to another vulnerability. */
export async function regroupMatches(
  session: WriteSession,
  affectedUids: readonly string[],
  vulnerability: string,
): Promise<void> {
  const rows = [...(await matchRowsOf(session, affectedUids)).values()].flat();
  for (const { uid } of rows) await session.setColumns(componentMatches, uid, { vulnerability });
  await changeRevision(session, { components: rows.map(idOf), vulnerabilities: [] });
}

/** What is known about components, of each that it is known about, by its id. */
interface KnownMatches {
  /** Those that hold. */
  readonly matches: ReadonlyMap<string, readonly Match[]>;
  /** Why it is not known whether something holds. */
  readonly reasons: ReadonlyMap<string, UnmatchedReason>;
}

/** What is known about these components. */
export async function readMatches(
  session: ReadSession,
  ids: readonly string[],
  shared: SharedMatches,
): Promise<KnownMatches> {
  const matches = new Map<string, Match[]>();
  const reasons = new Map<string, UnmatchedReason>();
  for (const [id, rows] of Map.groupBy(await rowsWith(session, "component", ids), idOf)) {
    const stored = rows.map((row) => ({ row, match: storedOf(row) }));
    const holding = stored.flatMap(({ row, match }) => shared.matchOf(row, match) ?? []);
    if (holding.length > 0) matches.set(id, holding);
    const reason = stored.find(({ match }) => match.reason !== undefined)?.match.reason;
    if (reason !== undefined) reasons.set(id, reason);
  }
  return { matches, reasons };
}

/** The ids of the components that one of these vulnerabilities holds of. */
export async function componentsWith(session: ReadSession, vulnerabilities: readonly string[]): Promise<string[]> {
  const rows = await rowsWith(session, "vulnerability", vulnerabilities);
  return [...new Set(rows.filter((row) => holds(storedOf(row))).map(idOf))];
}

/** The ids of the components about which something is known of one of these vulnerabilities, or was. */
export async function componentsMatching(session: ReadSession, vulnerabilities: readonly string[]): Promise<string[]> {
  return (await rowsWith(session, "vulnerability", vulnerabilities)).map(idOf);
}

/** By the uid of the row of `affected_packages`. */
async function matchRowsOf(session: ReadSession, affectedUids: readonly string[]): Promise<Map<string, Row[]>> {
  return Map.groupBy(await rowsWith(session, "affected", affectedUids), affectedUidOf);
}

/** The rows with one of these values in a column. */
async function rowsWith(
  session: ReadSession,
  column: "component" | "vulnerability" | "affected",
  values: readonly string[],
): Promise<Row[]> {
  const found: Row[] = [];
  const orderBy = [{ column, descending: false }];
  for (let start = 0; start < values.length; start += portion) {
    const where = [{ column, in: values.slice(start, start + portion) }];
    for await (const rows of session.pages(componentMatches, { where, orderBy, limit: rowPortion }))
      found.push(...rows);
  }
  return found;
}

/** Matches that have been read. What a record says is the same for most components that it matches: one object. */
export class SharedMatches {
  readonly #byAffected = new Map<string, Match[]>();

  /** The match of a row; undefined if it does not hold. */
  matchOf(row: Row, stored: StoredMatch): Match | undefined {
    if (!holds(stored)) return undefined;
    const affected = affectedUidOf(row);
    const match = { vulnerability: row.columns.vulnerability as string, ...stored };
    const others = this.#byAffected.get(affected);
    if (others === undefined) {
      this.#byAffected.set(affected, [match]);
      return match;
    }
    const same = others.find((other) => isSame(other, match));
    if (same === undefined) others.push(match);
    return same ?? match;
  }
}

/** Whether two matches of a row of `affected_packages` are equal. */
function isSame(a: Match, b: Match): boolean {
  return (
    a.vulnerability === b.vulnerability &&
    a.state === b.state &&
    a.fixedVersion === b.fixedVersion &&
    a.sinceMs === b.sinceMs &&
    a.fixState === b.fixState &&
    a.justification === b.justification &&
    a.isOfOrigin === b.isOfOrigin &&
    a.modifyMs === b.modifyMs &&
    a.kind === b.kind &&
    a.id === b.id &&
    a.feed === b.feed &&
    a.parts?.join() === b.parts?.join()
  );
}

function idOf({ columns }: Row): string {
  return columns.component as string;
}

function affectedUidOf({ columns }: Row): string {
  return columns.affected as string;
}

function storedOf({ body }: Row): StoredMatch {
  return JSON.parse(Buffer.from(body).toString());
}

function holds(stored: StoredMatch): stored is Omit<Match, "vulnerability"> {
  return stored.state !== undefined && stored.untilMs === undefined;
}

async function insertMatch(
  session: WriteSession,
  id: string,
  { uid, vulnerability }: Affected,
  match: StoredMatch,
  nowMs: number,
): Promise<void> {
  const columns = { component: id, vulnerability, affected: uid };
  const row = newRow(fixedUid("match", id, uid), "", nowMs, { body: bodyOf(match), columns });
  await session.insert(componentMatches, row);
}

/** Stores what is said now about a component of which something was said before. */
async function saveMatch(
  session: WriteSession,
  { vulnerability }: Affected,
  said: Statement | UnmatchedReason,
  row: Row,
  nowMs: number,
): Promise<void> {
  const before = storedOf(row);
  const match =
    typeof said === "string"
      ? { ...ended(before, nowMs), reason: said }
      : { ...said, sinceMs: holds(before) ? before.sinceMs : nowMs };
  await updateMatch(session, row, match, nowMs, vulnerability);
}

async function endMatch(session: WriteSession, row: Row, nowMs: number): Promise<void> {
  const before = storedOf(row);
  if (before.state === undefined) await session.remove(componentMatches, row.uid);
  else await updateMatch(session, row, ended(before, nowMs), nowMs);
}

function ended({ reason: _, ...match }: StoredMatch, nowMs: number): StoredMatch {
  return match.state === undefined ? {} : { ...match, untilMs: match.untilMs ?? nowMs };
}

async function updateMatch(
  session: WriteSession,
  row: Row,
  match: StoredMatch,
  nowMs: number,
  vulnerability = row.columns.vulnerability as string,
): Promise<void> {
  const body = bodyOf(match);
  if (Buffer.compare(body, row.body) === 0 && row.columns.vulnerability === vulnerability) return;
  const columns = { ...row.columns, vulnerability };
  await session.update(componentMatches, { ...row, columns, body, updateTimeUs: nowMs * 1000 });
}

/** The vulnerability is a column. */
function bodyOf({ vulnerability: _, ...match }: StoredMatch & { readonly vulnerability?: string }): Buffer {
  return Buffer.from(JSON.stringify(match));
}
