/** Log lines: one JSON object each, to standard error, so that standard output stays the command's own. */
import { type DestinationStream, destination, type Logger, pino, symbols } from "pino";

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

/** A logger that drops secrets by name wherever an object carries them. Lines are joined up to 64 KiB, and written each second and at exit. */
export function createLogger(level: LogLevel): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: ["token", "authorization", "*.token", "*.authorization", "*.client_secret", "*.code"],
    },
    joinedLines(),
  );
}

/** A call that has ended. */
export interface EndedCall {
  /** `platform.registry.v2.ReposService/GetRepo`. */
  readonly method: string;
  /** `OK` or the code's name. */
  readonly code: string;
  readonly ms: number;
  /** uid of the identity, once it is known. */
  readonly caller: string | undefined;
  readonly requestId: string | null;
}

/** Logs the line of a call, at level info. It is made here: pino, that can do so much more for a line, takes as long as a tenth of a Get. */
export function logCall(logger: Logger, { method, code, ms, caller, requestId }: EndedCall): void {
  if (!logger.isLevelEnabled("info")) return;
  const who = caller === undefined ? "" : `"caller":${JSON.stringify(caller)},`;
  streamOf(logger).write(
    `{"level":"info","time":"${isoTime(Date.now())}","method":"${method}","code":"${code}","ms":${Math.round(ms * 1000) / 1000},${who}"requestId":${JSON.stringify(requestId)},"msg":"call"}\n`,
  );
}

function streamOf(logger: Logger): DestinationStream {
  return (logger as unknown as Record<typeof symbols.streamSym, DestinationStream>)[symbols.streamSym];
}

const joinedLength = 64 * 1024;
const flushMs = 1000;

/** Standard error. pino's own destination measures all that it holds at each line, which costs more than the line: it is given many lines as one. */
function joinedLines(): DestinationStream {
  let sink: ReturnType<typeof destination> | undefined;
  let lines = "";

  function open() {
    const opened = destination({ dest: 2, sync: false });
    setInterval(flush, flushMs).unref();
    process.once("exit", () => {
      opened.flushSync();
      // What is only begun now would not be finished.
      if (lines !== "") destination({ dest: 2, sync: true }).write(lines);
    });
    return opened;
  }

  function flush(): void {
    if (lines === "") return;
    const joined = lines;
    lines = "";
    sink?.write(joined);
  }

  return {
    write(line) {
      sink ??= open();
      lines += line;
      if (lines.length >= joinedLength) flush();
    },
  };
}
