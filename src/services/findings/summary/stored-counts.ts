/**
 * What is stored of the counts of a repo. Its state is what is open since the last change; the row of a day is what was
 * open from that day on, and is written once, when a change on a later day ends it. Days are counted from 1970, in UTC.
 */
import { Finding_Level } from "../../../../gen/platform/findings/v1/findings_pb.ts";
import { fixedUid } from "../../../new-uid.ts";
import type { ReadSession, Row, TableSpec, WriteSession } from "../../../store/index.ts";

/** The state of each repo, which is the parent. */
export const findingStates: TableSpec = { name: "finding_states", columns: {} };

/** The days of repos before their states. `end_day` is the day on which the counts were others. */
export const findingDays: TableSpec = { name: "finding_days", columns: { end_day: "integer" } };

/** Counts by level, at the number of the level. */
export type LevelNumbers = readonly number[];

/** What changed on a day, and what was open from it on. */
export interface DayCounts {
  readonly day: number;
  readonly open: LevelNumbers;
  readonly opened: LevelNumbers;
  readonly resolved: LevelNumbers;
}

/** The counts of the day of the last change, and the level of each vulnerability that is open, by its id. */
export interface RepoState extends DayCounts {
  readonly levels: ReadonlyMap<string, Finding_Level>;
}

const dayMs = 86_400_000;
/** The highest number of a level. */
const highest = Math.max(...Object.values(Finding_Level).filter((level) => typeof level === "number"));

/** The day of a time in milliseconds since 1970. */
export function dayOf(ms: number): number {
  return Math.floor(ms / dayMs);
}

/** When a day begins, in milliseconds since 1970. */
export function msOfDay(day: number): number {
  return day * dayMs;
}

/** Counts of levels. */
export function countsOf(levels: Iterable<Finding_Level>): number[] {
  const counts = new Array<number>(highest + 1).fill(0);
  for (const level of levels) counts[level]!++;
  return counts;
}

export function sum(a: LevelNumbers, b: LevelNumbers): number[] {
  return a.map((count, level) => count + b[level]!);
}

/** The uid of the state of a repo. */
export function stateUid(repoUid: string): string {
  return `${repoUid}/${fixedUid("finding state").slice(0, 16)}`;
}

/** The uid of a day of a repo. */
export function dayUid(repoUid: string, day: number): string {
  return `${repoUid}/${fixedUid("finding day", String(day)).slice(0, 16)}`;
}

export function stateBody({ day, opened, resolved, levels }: Omit<RepoState, "open">): Buffer {
  return Buffer.from(JSON.stringify({ day, opened, resolved, levels: Object.fromEntries(levels) }));
}

export function stateOf({ body }: Row): RepoState {
  const { levels, ...day } = JSON.parse(Buffer.from(body).toString()) as Omit<DayCounts, "open"> & {
    readonly levels: Readonly<Record<string, Finding_Level>>;
  };
  const byId = new Map(Object.entries(levels));
  return { ...day, levels: byId, open: countsOf(byId.values()) };
}

export function dayBody({ day, open, opened, resolved }: DayCounts): Buffer {
  return Buffer.from(JSON.stringify({ day, open, opened, resolved }));
}

export function dayCountsOf({ body }: Row): DayCounts {
  return JSON.parse(Buffer.from(body).toString()) as DayCounts;
}

const setting = "findings_counted_from";

/** The day on which counting has begun; undefined until every repo has been counted once. */
export async function firstDay(session: ReadSession): Promise<number | undefined> {
  const bytes = await session.setting(setting);
  return bytes === undefined ? undefined : Number(Buffer.from(bytes).toString());
}

/** Stores the day on which counting has begun, unless one is stored. */
export async function saveFirstDay(session: WriteSession, day: number): Promise<void> {
  await session.addSetting(setting, Buffer.from(String(day)));
}
