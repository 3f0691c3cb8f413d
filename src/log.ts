/** Log lines, on standard error: JSON objects, or text for people; standard output is for the results of commands. */
import { styleText } from "node:util";
import { type DestinationStream, type Logger, pino, stdSerializers } from "pino";
import { joinedLines } from "./log-output.ts";
import { textOf } from "./log-text.ts";

export type { Logger };

/** Levels by rising severity; `silent` writes nothing. */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** How lines are written; `auto`: as text on a terminal, else in JSON. */
export const logFormats = ["auto", "text", "json"] as const;
export type LogFormat = (typeof logFormats)[number];

/** How long lines in JSON may wait. */
const flushMs = 1000;

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
  /** By default `json`. */
  readonly format?: LogFormat;
  /** By default standard error. */
  readonly stream?: DestinationStream;
}

/**
 * Creates a logger that redacts secrets by their names. `code` is redacted in an invite alone: in an error it is that
 * of {@link codeOf}. Lines in JSON are joined up to 64 KiB, and written each second and at exit. The level may be
 * changed at any time, as `logger.level`.
 */
export function createLogger(level: LogLevel, options: LoggerOptions = {}): Logger {
  const { worker } = options;
  const stream = streamOf(options);
  const logger = pino(
    {
      level,
      base: worker === undefined ? null : { worker },
      timestamp: () => `,"time":"${isoTime(Date.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
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

function streamOf({ format = "json", stream }: LoggerOptions): DestinationStream {
  if (format === "json" || (format === "auto" && !process.stderr.isTTY)) return stream ?? joinedLines(2, flushMs);
  const isColored = styleText("red", "-", { stream: process.stderr }) !== "-"; // as NO_COLOR and FORCE_COLOR say
  const text = stream ?? joinedLines(2, 0);
  return { write: (line) => text.write(textOf(line, isColored)) };
}

function describeError(error: Error): unknown {
  if (!(error instanceof Error)) return error;
  const code = codeOf(error);
  return { ...stdSerializers.err(error), ...(code !== undefined && { code }) };
}

/**
 * The code of an error, or else that of its cause: the SQLSTATE of PostgreSQL, the result code of SQLite by its number
 * (`SQLITE 13`), or the code of a system error (`ECONNREFUSED`).
 */
export function codeOf(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause ?? firstOf(at), depth++) {
    const { code, errcode } = at as { code?: unknown; errcode?: unknown };
    if (typeof errcode === "number") return `SQLITE ${errcode}`;
    if (typeof code === "string") return code;
  }
  return undefined;
}

/** The first error of several that are one: a host with two addresses fails once for each. */
function firstOf(error: Error): unknown {
  return error instanceof AggregateError ? error.errors[0] : undefined;
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
  /** That of the trace that the call is part of, if it is part of one. */
  readonly traceId: string | undefined;
  /** How many items it was about, if it says so. */
  readonly count?: number | undefined;
}

/**
 * Logs the line of a call, at level info. For a logger of this file the line is formatted here: pino would take a tenth
 * of the time of a Get.
 */
export function logCall(logger: Logger, { method, code, ms, caller, requestId, traceId, count }: EndedCall): void {
  if (!logger.isLevelEnabled("info")) return;
  const writer = writers.get(logger);
  if (writer === undefined) {
    logger.info({ method, code, ms: roundMs(ms), caller, requestId, traceId, count }, "call");
    return;
  }
  if (caller !== lastCaller) lastWho = caller === undefined ? "" : `"caller":${quoted(caller)},`;
  lastCaller = caller;
  const id = requestId === null ? null : quoted(requestId);
  const trace = traceId === undefined ? "" : `,"traceId":"${traceId}"`;
  const items = count === undefined ? "" : `,"count":${count}`;
  writer.stream.write(
    `{"level":"info","time":"${isoTime(Date.now())}",${writer.fields}"method":"${method}","code":"${code}","ms":${textOfMs(ms)},${lastWho}"requestId":${id}${trace}${items},"msg":"call"}\n`,
  );
}

/** The caller of the last line, and its part of the line: the same one often makes the next call. */
let lastCaller: string | undefined;
let lastWho = "";

/** The decimals of thousandths: ".05" of 50. */
const decimals = Array.from({ length: 1000 }, (_, thousandths) => String(thousandths / 1000).slice(1));

/** The text of {@link roundMs}, without the conversion of a fraction, which takes as long as the rest of a line. */
function textOfMs(ms: number): string {
  const us = Math.round(ms * 1000);
  const whole = Math.floor(us / 1000);
  return `${whole}${decimals[us - whole * 1000]}`;
}

/** Milliseconds with three decimals. */
export function roundMs(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** Logs why the token of a call was refused; the response does not say. */
export function logRefusedToken(logger: Logger, method: string, cause: unknown, requestId: string | null): void {
  logger.info({ method, reason: cause instanceof Error ? cause.message : String(cause), requestId }, "token refused");
}

/** A string as JSON; most ids have nothing to escape. */
function quoted(text: string): string {
  return /^[\w./:-]*$/.test(text) ? `"${text}"` : JSON.stringify(text);
}
