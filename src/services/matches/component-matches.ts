/**
 * Matches: what each record of a feed says about each component. They are written in the transaction that adds the
 * component or changes what is affected, so that they are never stale. A match that ends keeps its times.
 */
import {
  AffectedPackage,
  type Component,
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
import { type Affected, affectedByKey } from "./affected.ts";
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

/** The facts of a row, and the keys of a component with their versions, read once for all comparisons. */
const compiled = new WeakMap<Affected, AffectedPackage>();
const keys = new WeakMap<Component, readonly ComponentKey[]>();

function keysOf(component: Component): readonly ComponentKey[] {
  const known = keys.get(component) ?? componentKeys(component);
  keys.set(component, known);
  return known;
}

/** The keys by which facts find a component, each once, its own first. */
export function keysFor(component: Component): readonly string[] {
  return [...new Set(keysOf(component).map(({ key }) => key))];
}

/**
 * What a record says about a component; undefined when it says nothing about it, or the reason why it is not known what
 * it says.
 */
export function statementOf(component: Component, affected: Affected): Statement | UnmatchedReason | undefined {
  const facts = compiled.get(affected) ?? new AffectedPackage(affected.facts);
  compiled.set(affected, facts);
  for (const at of keysOf(component)) {
    const said = facts.evaluate([at]);
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
    return { ...common, state, fixState, fixedVersion: status.fixedVersion, justification };
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
export function sayingSinceMs(component: Component, affected: Affected): number {
  let { sinceMs } = affected;
  for (const before of affected.earlier) {
    if (typeof statementOf(component, { ...affected, ...before }) !== "object") break;
    sinceMs = before.sinceMs;
  }
  return sinceMs;
}

/** Writes what is known about components that were just stored. */
export async function matchComponents(
  session: WriteSession,
  added: readonly StoredComponent[],
  nowMs: number,
): Promise<void> {
  const known = await affectedByKey(session, [...new Set(added.flatMap(keysFor))]);
  for (const component of added)
    for (const affected of keysFor(component).flatMap((key) => known.get(key) ?? [])) {
      const statement = statementOf(component, affected);
      if (typeof statement === "object")
        await insertMatch(
          session,
          component.id,
          affected.uid,
          { ...statement, sinceMs: sayingSinceMs(component, affected) },
          nowMs,
        );
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
  const byKey = Map.groupBy(saved, ({ key }) => key);
  const holding = new Map(saved.map(({ uid }) => [uid, new Set<string>()]));
  if (byKey.size > 0)
    for await (const components of componentsWithKeys(session, [...byKey.keys()]))
      for (const component of components)
        for (const affected of keysFor(component).flatMap((key) => byKey.get(key) ?? [])) {
          const statement = statementOf(component, affected);
          if (typeof statement !== "object") continue;
          const rows = stored.get(affected.uid) ?? [];
          await saveMatch(session, component.id, affected.uid, statement, rows, nowMs);
          holding.get(affected.uid)!.add(component.id);
          changed.add(component.id);
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

/** The matches that hold, of each of these components that has any, by its id. */
export async function readMatches(
  session: ReadSession,
  ids: readonly string[],
  shared = new SharedMatches(),
): Promise<Map<string, Match[]>> {
  return matchesById(await rowsWith(session, "component", ids), shared);
}

/** The same, of these vulnerabilities only. */
export async function matchesOf(
  session: ReadSession,
  vulnerabilities: readonly string[],
): Promise<Map<string, Match[]>> {
  return matchesById(await rowsWith(session, "vulnerability", vulnerabilities), new SharedMatches());
}

/** The ids of the components that one of these vulnerabilities is matched with, or was. */
export async function componentsMatching(session: ReadSession, vulnerabilities: readonly string[]): Promise<string[]> {
  return (await rowsWith(session, "vulnerability", vulnerabilities)).map(idOf);
}

function matchesById(rows: readonly Row[], shared: SharedMatches): Map<string, Match[]> {
  const found = new Map<string, Match[]>();
  for (const [id, ofOne] of Map.groupBy(rows, idOf)) {
    const matches = ofOne.map((row) => shared.matchOf(row)).filter(({ untilMs }) => untilMs === undefined);
    if (matches.length > 0) found.set(id, matches);
  }
  return found;
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

  matchOf(row: Row): Match {
    const affected = affectedUidOf(row);
    const match = matchOf(row);
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
    a.untilMs === b.untilMs &&
    a.fixState === b.fixState &&
    a.justification === b.justification &&
    a.isOfOrigin === b.isOfOrigin &&
    a.modifyMs === b.modifyMs &&
    a.kind === b.kind &&
    a.id === b.id &&
    a.feed === b.feed
  );
}

function idOf({ columns }: Row): string {
  return columns.component as string;
}

function affectedUidOf({ columns }: Row): string {
  return columns.affected as string;
}

function matchOf({ columns, body }: Row): Match {
  return { vulnerability: columns.vulnerability as string, ...JSON.parse(Buffer.from(body).toString()) };
}

async function insertMatch(
  session: WriteSession,
  id: string,
  affected: string,
  match: Match,
  nowMs: number,
): Promise<void> {
  const uid = fixedUid("match", id, affected);
  await session.insert(componentMatches, newRow(uid, "", nowMs, contentOf(id, affected, match)));
}

async function saveMatch(
  session: WriteSession,
  id: string,
  affected: string,
  statement: Statement,
  stored: readonly Row[],
  nowMs: number,
): Promise<void> {
  const row = stored.find((each) => idOf(each) === id);
  if (row === undefined) return insertMatch(session, id, affected, { ...statement, sinceMs: nowMs }, nowMs);
  const before = matchOf(row);
  const sinceMs = before.untilMs === undefined ? before.sinceMs : nowMs;
  const content = contentOf(id, affected, { ...statement, sinceMs });
  if (Buffer.compare(content.body, row.body) !== 0 || row.columns.vulnerability !== statement.vulnerability)
    await session.update(componentMatches, { ...row, ...content, updateTimeUs: nowMs * 1000 });
}

async function endMatch(session: WriteSession, row: Row, nowMs: number): Promise<void> {
  const match = matchOf(row);
  if (match.untilMs !== undefined) return;
  const content = contentOf(idOf(row), affectedUidOf(row), { ...match, untilMs: nowMs });
  await session.update(componentMatches, { ...row, ...content, updateTimeUs: nowMs * 1000 });
}

function contentOf(component: string, affected: string, { vulnerability, ...match }: Match) {
  return { body: Buffer.from(JSON.stringify(match)), columns: { component, vulnerability, affected } };
}
