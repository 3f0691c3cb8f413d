/** What every server of a run does beside its work: a line for each call, to standard error, buffered, as pino's documentation advises. */
import pino from "pino";

/** Opens the access log. */
export function openAccessLog() {
  return pino({ base: null }, pino.destination({ dest: 2, sync: false, minLength: 4096, periodicFlush: 1000 }));
}
