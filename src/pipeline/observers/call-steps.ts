/** The steps of a call, for the line of a slow call and for spans. */
import type { CallTimes } from "../../call/index.ts";

/** A step that a call came to. Times are those of `performance.now()`. */
export interface CallStep {
  readonly name: "authentication" | "authorization" | "validation" | "wait" | "handler" | "commit";
  readonly beganMs: number;
  readonly endedMs: number;
}

/** The steps of a call that has ended, up to the one that it ended in. `isChange`: whether it has a transaction. */
export function stepsOf(times: CallTimes, isChange: boolean, endedMs: number): readonly CallStep[] {
  const ends: readonly (readonly [CallStep["name"], number])[] = [
    ["authentication", times.authenticatedMs],
    ["authorization", times.authorizedMs],
    ["validation", times.validatedMs],
    ...(isChange ? ([["wait", times.begunMs]] as const) : []),
    ["handler", isChange ? times.workedMs : endedMs],
    ["commit", endedMs],
  ];
  const steps: CallStep[] = [];
  for (const [name, atMs] of ends.slice(0, isChange ? undefined : -1)) {
    const beganMs = steps.at(-1)?.endedMs ?? times.beganMs;
    steps.push({ name, beganMs, endedMs: atMs === 0 ? endedMs : atMs });
    if (atMs === 0) break;
  }
  return steps;
}
