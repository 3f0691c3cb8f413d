/** When an event loop stood still, on the clock that all processes of a machine share: so it shows who stood still at the same time. */

/** A span of time in milliseconds. */
export interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

const everyMs = 2;
/** Shorter ones are nobody's concern. */
const minStallMs = 2;

/** Watches this process. Gives the stalls since it was last asked. */
export function watchStalls(): () => Stall[] {
  const stalls: Stall[] = [];
  let dueMs = nowMs() + everyMs;
  setInterval(() => {
    const toMs = nowMs();
    if (toMs - dueMs > minStallMs) stalls.push({ fromMs: dueMs, toMs });
    dueMs = toMs + everyMs;
  }, everyMs).unref();
  return () => stalls.splice(0);
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** How long one lasted. */
export function lengthOf({ fromMs, toMs }: Stall): number {
  return toMs - fromMs;
}

/** How much of a stall is left when the time is taken away for which a witness, who had nothing to do, stood still as well. */
export function ownLengthOf(stall: Stall, witnessed: readonly Stall[]): number {
  const shared = witnessed.map(({ fromMs, toMs }) =>
    Math.max(0, Math.min(stall.toMs, toMs) - Math.max(stall.fromMs, fromMs)),
  );
  return lengthOf(stall) - shared.reduce((sum, ms) => sum + ms, 0);
}
