/** Log lines: one JSON object each, on standard error; standard output is for the results of commands. */
import { type DestinationStream, destination, type Logger, pino } from "pino";

export type { Logger };

/** Levels by rising severity; `silent` writes nothing. */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

let lastMs = 0;
let lastTime = "";

/** The time in RFC 3339, formatted once for all lines of a millisecond. */
function isoTime(nowMs: number): string {
  if (nowMs !== lastMs) lastTime = new Date(nowMs).toISOString();
  lastMs = nowMs;
  return lastTime;
}

/** The loggers of this file: where they write, and the fields that begin each line, as JSON. */
const writers = new WeakMap<Logger, { readonly stream: DestinationStream; readonly fields: string }>();

/** What a logger may be given. */
export interface LoggerOptions {
  /** The number of this process, if the server has several. It is in every line. */
  readonly worker?: number;
  /** By default standard error. */
  readonly stream?: DestinationStream;
}

/**
 * Creates a logger that redacts secrets by their names. `code` is redacted in an invite alone: in an error it is the
 * SQLSTATE or the system error. Lines are joined up to 64 KiB, and written each second and at exit.
 */
export function createLogger(level: LogLevel, { worker, stream = joinedLines() }: LoggerOptions = {}): Logger {
  const logger = pino(
    {
      level,
      base: worker === undefined ? null : { worker },
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: [
        ...["token", "authorization", "*.token", "*.authorization", "*.client_secret"],
        ...["groupInvite.code", "*.groupInvite.code"],
      ],
    },
    stream,
  );
  writers.set(logger, { stream, fields: worker === undefined ? "" : `"worker":${worker},` });
  return logger;
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

/**
 * Logs the line of a call, at level info. For a logger of this file the line is formatted here: pino would take a tenth
 * of the time of a Get.
 */
export function logCall(logger: Logger, { method, code, ms, caller, requestId }: EndedCall): void {
  if (!logger.isLevelEnabled("info")) return;
  const rounded = Math.round(ms * 1000) / 1000;
  const writer = writers.get(logger);
  if (writer === undefined) {
    logger.info({ method, code, ms: rounded, caller, requestId }, "call");
    return;
  }
  const who = caller === undefined ? "" : `"caller":${quoted(caller)},`;
  const id = requestId === null ? null : quoted(requestId);
  writer.stream.write(
    `{"level":"info","time":"${isoTime(Date.now())}",${writer.fields}"method":"${method}","code":"${code}","ms":${rounded},${who}"requestId":${id},"msg":"call"}\n`,
  );
}

/** Logs why the token of a call was refused; the response does not say. */
export function logRefusedToken(logger: Logger, method: string, cause: unknown, requestId: string | null): void {
  logger.info({ method, reason: cause instanceof Error ? cause.message : String(cause), requestId }, "token refused");
}

/** A string as JSON; most ids have nothing to escape. */
function quoted(text: string): string {
  return /^[\w./:-]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}

const joinedBytes = 64 * 1024;
const flushMs = 1000;

/**
 * Standard error. pino's own destination measures all that it holds at each line, which costs more than the line, so it
 * is given many lines as one. They are kept as bytes: strings that live for a while are work for the garbage collector.
 */
function joinedLines(): DestinationStream {
  let sink: ReturnType<typeof destination> | undefined;
  const lines = Buffer.allocUnsafeSlow(joinedBytes);
  let at = 0;

  function open() {
    const opened = destination({ dest: 2, sync: false });
    setInterval(flush, flushMs).unref();
    process.once("exit", () => {
      opened.flushSync();
      // An asynchronous write that began now would not finish.
      if (at > 0) destination({ dest: 2, sync: true }).write(take());
    });
    return opened;
  }

  function take(): string {
    const joined = lines.toString("utf8", 0, at);
    at = 0;
    return joined;
  }

  function flush(): void {
    if (at > 0) sink?.write(take());
  }

  return {
    write(line) {
      sink ??= open();
      const most = 3 * line.length; // bytes in UTF-8
      if (at + most > joinedBytes) flush();
      if (most > joinedBytes) sink.write(line);
      else at += lines.write(line, at);
    },
  };
}
