import { create } from "@bufbuild/protobuf";
import pg from "pg";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { CreateGroupInviteRequestSchema } from "../gen/platform/iam/v2/group_invites_pb.ts";
import { createLogger, logCall } from "../src/log.ts";

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

test("tokens and client secrets are redacted", () => {
  const { log, lines } = open();
  log.info({ token: "5ecre7", request: { authorization: "5ecre7", client_secret: "5ecre7" } }, "request");
  expect(JSON.stringify(lines)).not.toContain("5ecre7");
});

test("the line of a call is the same as pino's", () => {
  const { log, stream, lines } = open();
  const formatters = { level: (level: string) => ({ level }) };
  const other = pino({ base: null, formatters, timestamp: pino.stdTimeFunctions.isoTime }, stream);
  const call = { method: "a.B/C", code: "OK", ms: 1.23456, caller: 'q"', requestId: "r" };
  for (const { caller, requestId } of [call, { caller: undefined, requestId: null }])
    for (const logger of [log, other]) logCall(logger, { ...call, caller, requestId });
  const [own, byPino, ownEmpty, byPinoEmpty] = lines.map(({ time, ...line }) => {
    expect(time).toMatch(/^\d{4}-.*Z$/);
    return line;
  });
  expect(own).toEqual({ level: "info", ...call, ms: 1.235, msg: "call" });
  expect(byPino).toEqual(own);
  expect(byPinoEmpty).toEqual(ownEmpty);
});
