/** Log lines: one JSON object each, to standard error, so that standard output stays the command's own. */
import { destination, type Logger, pino } from "pino";

export type { Logger };

/** Levels by rising severity; `silent` writes nothing. */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

let lastMs = 0;
let lastTime = "";

/** The time in RFC 3339: many lines are of one millisecond. */
function isoTime(nowMs: number): string {
  if (nowMs !== lastMs) lastTime = new Date(nowMs).toISOString();
  lastMs = nowMs;
  return lastTime;
}

/** A logger that drops secrets by name wherever an object carries them. Lines are buffered up to 4 KiB and flushed at exit and each second. */
export function createLogger(level: LogLevel): Logger {
  const sink = destination({ dest: 2, sync: false, minLength: 4096, periodicFlush: 1000 });
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: ["token", "authorization", "*.token", "*.authorization", "*.client_secret", "*.code"],
    },
    sink,
  );
}
