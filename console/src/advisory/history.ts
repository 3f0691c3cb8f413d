/** How many advisories were open and fixed over time, by their events. */
import type { JsonObject } from "@bufbuild/protobuf";
import { approvedEvents, type Phase, statusOfEvent, timeOf } from "./status.ts";

/** The numbers at the end of a day. */
export interface Point {
  /** `2026-01-31`. */
  readonly date: string;
  readonly open: number;
  readonly fixed: number;
}

/** A time when an advisory changed from a phase to another one. */
interface Change {
  readonly ms: number;
  readonly from: Phase | undefined;
  readonly to: Phase;
}

const dayMs = 86_400_000;
const maxPoints = 60;

/**
 * The numbers from the first event to the last, at most 60 times at the same distance. Events without a time do not
 * count.
 */
export function historyOf(advisories: readonly JsonObject[]): readonly Point[] {
  const changes = advisories.flatMap(changesOf).sort((a, b) => a.ms - b.ms);
  const [first, last] = [changes[0], changes.at(-1)];
  if (first === undefined || last === undefined) return [];
  const stepMs = Math.max(Math.ceil((last.ms - first.ms) / dayMs / (maxPoints - 1)), 1) * dayMs;
  const count: Record<Phase, number> = { open: 0, fixed: 0, dismissed: 0 };
  const points: Point[] = [];
  let next = 0;
  for (let endMs = endOfDay(first.ms); next < changes.length; endMs += stepMs) {
    for (; next < changes.length && changes[next]!.ms < endMs; next++) {
      const { from, to } = changes[next]!;
      if (from !== undefined) count[from] -= 1;
      count[to] += 1;
    }
    points.push({ date: new Date(endMs - 1).toISOString().slice(0, 10), open: count.open, fixed: count.fixed });
  }
  return points;
}

function endOfDay(ms: number): number {
  return (Math.floor(ms / dayMs) + 1) * dayMs;
}

function changesOf(advisory: JsonObject): readonly Change[] {
  let from: Phase | undefined;
  return approvedEvents(advisory)
    .toReversed()
    .flatMap((event) => {
      const [status, time] = [statusOfEvent(event), timeOf(event)];
      if (status === undefined || time === undefined || status.phase === from) return [];
      const change = { ms: Date.parse(time), from, to: status.phase };
      from = status.phase;
      return [change];
    });
}
