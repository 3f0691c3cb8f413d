/** The translation of PostgreSQL's errors and of lost connections. */
import pg from "pg";
import { expect, test } from "vitest";
import { notConnected, translated } from "../../../../src/store/engines/postgres/errors.ts";

const reported = (code: string) => Object.assign(new pg.DatabaseError("said", 4, "error"), { code });

test.each([
  ["57P01", "UnavailableError"], // admin_shutdown
  ["57P02", "UnavailableError"], // crash_shutdown
  ["57P03", "UnavailableError"], // cannot_connect_now
  ["57P05", "UnavailableError"], // idle_session_timeout
  ["25P03", "UnavailableError"], // idle_in_transaction_session_timeout
  ["53300", "UnavailableError"], // too_many_connections
  ["53100", "UnavailableError"], // disk_full
  ["58030", "UnavailableError"], // io_error
  ["08006", "UnavailableError"], // connection_failure
  ["08P01", "UnavailableError"], // protocol_violation
  ["25006", "UnavailableError"], // read_only_sql_transaction
  ["57014", "StatementTimeoutError"], // query_canceled
  ["40001", "ConflictError"],
  ["40P01", "ConflictError"],
  ["55P03", "ConflictError"],
  ["23505", "UniqueViolation"],
  ["42601", "error"], // syntax_error: a bug
  ["22P02", "error"], // invalid_text_representation
  ["42501", "RefusedError"], // insufficient_privilege
  ["26000", "ConflictError"], // invalid_sql_statement_name
])("the SQLSTATE %s is %s", (code, name) => {
  const error = translated(reported(code));
  expect(error).toMatchObject({ name });
  expect(error === translated(error)).toBe(true);
});

test.each([
  [Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", syscall: "read" }), true],
  [Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" }), true],
  [new Error("Connection terminated unexpectedly"), true],
  [new Error("Client has encountered a connection error and is not queryable"), true],
  [new Error("Client was closed and is not queryable"), true],
  [new TypeError("x is not a function"), false],
  [new Error("a table has no column x"), false],
  [Object.assign(new Error("invalid"), { code: "ERR_INVALID_ARG_TYPE" }), false],
])("%s is the loss of a connection: %s", (error, isLost) => {
  expect((translated(error) as Error).name === "UnavailableError").toBe(isLost);
});

test.each([
  [reported("28P01"), "RefusedError"], // invalid_password
  [reported("28000"), "RefusedError"], // invalid_authorization_specification
  [reported("3D000"), "RefusedError"], // invalid_catalog_name
  [reported("57P03"), "UnavailableError"], // the server is starting up
  [reported("53300"), "UnavailableError"],
  [new Error("timeout exceeded when trying to connect"), "UnavailableError"],
  [
    new AggregateError([new Error("connect ECONNREFUSED ::1:5432"), new Error("connect ECONNREFUSED")]),
    "UnavailableError",
  ],
])("%s while connecting is %s", (error, name) => {
  const failure = notConnected(error, "db.example.com:5432/platform");
  expect(failure.name).toBe(name);
  expect(failure.message).toContain("the database at db.example.com:5432/platform");
});
