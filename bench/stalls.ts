/**
 * Records stalls of the event loop, on the clock that all processes of a machine share, so that they can be compared.
 */

/** A span of time in milliseconds. */
export interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

const everyMs = 2;
/** Shorter stalls are not recorded. */
const minStallMs = 2;

/** Watches this process. The returned function gives the stalls since its last call. */
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

/** The length of a stall in milliseconds. */
export function lengthOf({ fromMs, toMs }: Stall): number {
  return toMs - fromMs;
}

/** The length of a stall without the time for which an idle reference process stalled, too. */
export function ownLengthOf(stall: Stall, reference: readonly Stall[]): number {
  const shared = reference.map(({ fromMs, toMs }) =>
    Math.max(0, Math.min(stall.toMs, toMs) - Math.max(stall.fromMs, fromMs)),
  );
  return lengthOf(stall) - shared.reduce((sum, ms) => sum + ms, 0);
}
