import { create } from "@bufbuild/protobuf";
import pg from "pg";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { CreateGroupInviteRequestSchema } from "../gen/platform/iam/v2/group_invites_pb.ts";
import { createLogger, logCall } from "../src/log.ts";
import { textOf } from "../src/log-text.ts";
import { UnavailableError } from "../src/store/index.ts";

/** A logger, and what it has written. */
function open() {
  const lines: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { log: createLogger("debug", { stream }), stream, lines };
}

describe("the code", () => {
  test("of a database error and of a system error is logged", () => {
    const { log, lines } = open();
    log.error({ err: Object.assign(new pg.DatabaseError("duplicate key", 0, "error"), { code: "23505" }) }, "bug");
    log.warn({ err: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) }, "delivery");
    expect(lines).toMatchObject([{ err: { code: "23505" } }, { err: { code: "ECONNREFUSED" } }]);
  });

  test("of a cause is logged with the error that it caused", () => {
    const { log, lines } = open();
    const refused = Object.assign(new Error("shutting down"), { code: "57P03" });
    const full = Object.assign(new Error("full"), { code: "ERR_SQLITE_ERROR", errcode: 13, errstr: "disk is full" });
    for (const cause of [refused, full]) log.error({ err: new UnavailableError("refused", cause) }, "bug");
    expect(lines).toMatchObject([{ err: { code: "57P03" } }, { err: { code: "SQLITE 13" } }]);
  });

  test("of an invite is redacted", () => {
    const { log, lines } = open();
    const request = create(CreateGroupInviteRequestSchema, { groupInvite: { code: "5ecre7", keyId: "k" } });
    log.info(request, "request");
    log.info({ request }, "request");
    expect(lines).toMatchObject([
      { groupInvite: { code: "[Redacted]", keyId: "k" } },
      { request: { groupInvite: { code: "[Redacted]", keyId: "k" } } },
    ]);
  });
});

test("the level is changed while the logger is used, also for the lines of calls", () => {
  const { log, lines } = open();
  const call = { method: "a.B/C", code: "OK", ms: 1, caller: undefined, requestId: null, traceId: undefined };
  for (const level of ["warn", "info"]) {
    log.level = level;
    logCall(log, call);
    log.info("info");
    log.warn(level);
  }
  expect(lines.map(({ msg }) => msg)).toEqual(["warn", "call", "info", "info"]);
});

describe("text", () => {
  const line = (fields: object) => JSON.stringify({ level: "warn", time: "2026-01-02T03:04:05.006Z", ...fields });
  const time = /^\d\d:\d\d:05\.006 /;

  test("has the time, the level, the message and what a call was, then the other fields", () => {
    const call = { method: "a.B/C", code: "NOT_FOUND", ms: 1.5, requestId: "r", caller: null, msg: "call" };
    expect(textOf(line(call), false).replace(time, "")).toBe("WARN  call a.B/C NOT_FOUND 1.5 ms requestId=r\n");
    expect(textOf(line({ reason: "no route", count: 2, msg: "m" }), false).replace(time, "")).toBe(
      'WARN  m reason="no route" count=2\n',
    );
  });

  test("has the code of an error in its line, and the stack below it", () => {
    const err = { type: "Error", message: "no", stack: "Error: no\n    at f", code: "23505" };
    expect(textOf(line({ err, msg: "bug" }), false).replace(time, "")).toBe(
      "WARN  bug 23505 error=no\n    Error: no\n        at f\n",
    );
  });

  test("has colours only if they are wanted, and none that a value brings along", () => {
    const evil = { msg: "m\u001b[2J", requestId: "\u009b2J\n\u202e", method: "\u001b]0;x\u0007" };
    const plain = textOf(line(evil), false);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(plain.trimEnd()).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(textOf(line(evil), true)).toContain("\u001b[33mWARN");
  });

  test("has no command of a CI system", () => {
    const stack = "Error: a\n::error::b\n  ::add-mask::c\n    at f (##vso[task.setvariable]d)";
    const text = textOf(line({ err: { type: "Error", message: "::error::e", stack }, msg: "::warning::f" }), false);
    for (const each of text.split("\n")) expect(each).not.toMatch(/^\s*::.*::|##vso\[/);
    expect(text).toContain("at f (\\u0023#vso[task.setvariable]d)");
  });

  test("is written by a logger that is told to", () => {
    const lines: string[] = [];
    const log = createLogger("info", { format: "text", stream: { write: (text) => void lines.push(text) } });
    logCall(log, { method: "a.B/C", code: "OK", ms: 1, caller: "u", requestId: "r", traceId: "t" });
    expect(lines).toEqual([expect.stringContaining("call a.B/C OK 1 ms caller=u requestId=r traceId=t")]);
  });
});

test("tokens and client secrets are redacted", () => {
  const { log, lines } = open();
  log.info({ token: "5ecre7", request: { authorization: "5ecre7", client_secret: "5ecre7" } }, "request");
  expect(JSON.stringify(lines)).not.toContain("5ecre7");
});

test("the line of a call is the same as pino's", () => {
  const { log, stream, lines } = open();
  const formatters = { level: (level: string) => ({ level }) };
  const other = pino({ base: null, formatters, timestamp: pino.stdTimeFunctions.isoTime }, stream);
  const call = { method: "a.B/C", code: "OK", ms: 1.23456, caller: 'q"', requestId: "r", traceId: "0af7651916cd43dd" };
  for (const given of [call, { ...call, caller: undefined, requestId: null, traceId: undefined }])
    for (const logger of [log, other]) logCall(logger, given);
  const [own, byPino, ownEmpty, byPinoEmpty] = lines.map(({ time, ...line }) => {
    expect(time).toMatch(/^\d{4}-.*Z$/);
    return line;
  });
  expect(own).toEqual({ level: "info", ...call, ms: 1.235, msg: "call" });
  expect(byPino).toEqual(own);
  expect(byPinoEmpty).toEqual(ownEmpty);
});
