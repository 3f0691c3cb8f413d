/** Closes a listener, or connections, in the moment in which it is least likely that something comes. */
import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";

/** A turn of the event loop that is shorter than this has had nothing to accept or to read. */
const quietTurnMs = 0.2;
/** Where there is none, because the process is busy, a turn does that is shorter than this part of the time waited. */
const quietPart = 0.005;

/**
 * Waits for a turn of the event loop in which nothing comes. Each turn accepts one connection of the queue, and reads
 * the requests that have come. `accepted` counts the connections; after `maxTurns` it waits no longer.
 */
export async function quietTurn(accepted: () => number, maxTurns: number): Promise<void> {
  await setImmediate(); // the rest of this turn
  createServer().close(); // compiles what the caller runs next, for 0.1 ms
  const startMs = performance.now();
  for (let turns = 0; turns < maxTurns; turns++) {
    const before = accepted();
    const turnMs = performance.now();
    await setImmediate();
    const nowMs = performance.now();
    if (accepted() !== before) continue;
    if (nowMs - turnMs < Math.max(quietTurnMs, (nowMs - startMs) * quietPart)) return;
  }
}
