/**
 * The access log of all servers: a line for each call to standard error, buffered as pino's documentation recommends.
 */
import pino from "pino";

/** Opens the access log. */
export function openAccessLog() {
  return pino({ base: null }, pino.destination({ dest: 2, sync: false, minLength: 4096, periodicFlush: 1000 }));
}
