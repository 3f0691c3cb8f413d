/** The deadline of a call, for transports of Connect. */
import type { Deadline } from "../message/index.ts";

/** The time-out for a transport of Connect, to which 0 means none. Errors: DEADLINE_EXCEEDED if no time is left. */
export function timeoutOf(deadline: Deadline | undefined): number | undefined {
  deadline?.check();
  return deadline && Math.max(1, deadline.leftMs());
}
