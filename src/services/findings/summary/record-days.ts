/**
 * Records what is open in repos, one after another, so that it can be told later. Several servers may do so on one
 * database: a change is recorded by the first one that sees it.
 */
import { setImmediate as turn } from "node:timers/promises";
import { newRow } from "../../../resource/index.ts";
import type { Database, ReadSession, Row, WriteSession } from "../../../store/index.ts";
import { imageContents } from "../../matches/tables.ts";
import { repos } from "../../registry/repos.ts";
import type { KnownComponents } from "../known/components.ts";
import { changesSince, firstChanges, type OpenVulnerabilities, openVulnerabilities } from "./open-vulnerabilities.ts";
import {
  dayBody,
  dayOf,
  dayUid,
  findingDays,
  findingStates,
  firstDay,
  saveFirstDay,
  stateBody,
  stateOf,
  stateUid,
  sum,
} from "./stored-counts.ts";

/** What {@link recordFindingDays} needs. */
export interface RecordOptions {
  readonly database: Database;
  readonly memory: KnownComponents;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Creates a task that records the next repo. It returns whether it should run again at once: false after the last repo,
 * when the next run begins again.
 */
export function recordFindingDays({ database, memory, now }: RecordOptions): () => Promise<boolean> {
  const { signal } = new AbortController();
  const session = database.readFor({ caller: "", signal, pause: () => turn() });
  let after: string | undefined;
  let beginDay = 0;

  return async () => {
    if (after === undefined) beginDay = dayOf(now());
    after = await nextRepo(session, after);
    if (after !== undefined) {
      await recordRepo(after);
      return true;
    }
    if ((await firstDay(session)) === undefined) await database.transact((write) => saveFirstDay(write, beginDay));
    return false;
  };

  async function recordRepo(repoUid: string): Promise<void> {
    const row = await session.get(findingStates, stateUid(repoUid));
    const isBeginning = (await firstDay(session)) === undefined;
    const open = (await openVulnerabilities(session, memory, { parent: repoUid })).get(repoUid) ?? new Map();
    if (!differs(row, open)) return;
    const change = { repoUid, row, open, isBeginning, nowMs: now() };
    await database.transact(async (write) => {
      // Whoever else records the repo waits for this, also before it has a state.
      if ((await write.getToChange(repos.table, repoUid)) === undefined) return;
      const stored = await write.get(findingStates, stateUid(repoUid));
      if (stored?.version === row?.version) await recordChange(write, change);
    });
  }
}

/** The first repo after one that contains images, or whose images were recorded. */
async function nextRepo(session: ReadSession, after: string | undefined): Promise<string | undefined> {
  // The others below a repo are passed over: `0` is the character after `/`.
  const query = { columns: [], ...(after !== undefined && { after: [`${after}0`] }) };
  const next = [await session.first(imageContents, query), await session.first(findingStates, query)];
  return next
    .flatMap((row) => row?.parent ?? [])
    .sort()
    .at(0);
}

function differs(row: Row | undefined, open: OpenVulnerabilities): boolean {
  const levels = row === undefined ? new Map() : stateOf(row).levels;
  return levels.size !== open.size || [...open].some(([id, { level }]) => levels.get(id) !== level);
}

/** A difference of a repo from its state. */
interface RepoChange {
  readonly repoUid: string;
  /** The state; undefined if it has none. */
  readonly row: Row | undefined;
  readonly open: OpenVulnerabilities;
  /** Whether not all repos have been counted once. */
  readonly isBeginning: boolean;
  readonly nowMs: number;
}

async function recordChange(session: WriteSession, { repoUid, row, open, isBeginning, nowMs }: RepoChange) {
  const levels = new Map([...open].map(([id, { level }]) => [id, level]));
  if (row === undefined) {
    const day = dayOf(nowMs);
    const changes = isBeginning ? firstChanges(open, day) : changesSince(new Map(), open);
    const content = { body: stateBody({ day, levels, ...changes }), columns: {} };
    await session.insert(findingStates, newRow(stateUid(repoUid), repoUid, nowMs, content));
    return;
  }
  const before = stateOf(row);
  const changes = changesSince(before.levels, open);
  const day = Math.max(before.day, dayOf(nowMs)); // the clocks of servers differ
  const isSameDay = day === before.day;
  const opened = isSameDay ? sum(before.opened, changes.opened) : changes.opened;
  const resolved = isSameDay ? sum(before.resolved, changes.resolved) : changes.resolved;
  if (!isSameDay) {
    const content = { body: dayBody(before), columns: { end_day: day } };
    await session.insert(findingDays, newRow(dayUid(repoUid, before.day), repoUid, nowMs, content));
  }
  const body = stateBody({ day, opened, resolved, levels });
  await session.update(findingStates, { ...row, body, updateTimeUs: nowMs * 1000 });
}
