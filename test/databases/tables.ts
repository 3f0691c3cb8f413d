/** Tables and rows for the tests of the store. */
import type { ColumnValue, Row, TableSpec } from "../../src/store/index.ts";

/** Names are unique below a parent. */
export const repos: TableSpec = { name: "repos", columns: { name: "text" } };

/** Without unique columns; with both scalar types. */
export const identities: TableSpec = {
  name: "identities",
  columns: { name: "text", relationship: "integer", issuer: "text", subject: "text", last_seen_us: "integer" },
};

/** Unique by parent and both columns. */
export const roleBindings: TableSpec = { name: "role_bindings", columns: { identity_uid: "text", role_uid: "text" } };

/** Content columns of both types. */
export const advisories: TableSpec = { name: "advisories", columns: { terms: "texts", search: "search" } };

/** A new row with a name. Its parent is that of its uid. */
export function newRow(
  uid: string,
  columns: Record<string, ColumnValue> = {},
  timeUs = 1_700_000_000_000_000,
): Omit<Row, "version"> {
  return unnamedRow(uid, { name: uid, ...columns }, timeUs);
}

/** The same with a value of each column of {@link identities}. */
export function identityRow(
  uid: string,
  columns: Record<string, ColumnValue> = {},
  timeUs?: number,
): Omit<Row, "version"> {
  return newRow(uid, { relationship: 0, issuer: "", subject: "", last_seen_us: 0, ...columns }, timeUs);
}

/** A new row with these columns alone. */
export function unnamedRow(
  uid: string,
  columns: Record<string, ColumnValue>,
  timeUs = 1_700_000_000_000_000,
): Omit<Row, "version"> {
  const parent = uid.split("/").slice(0, -1).join("/");
  return {
    uid,
    parent,
    createTimeUs: timeUs,
    updateTimeUs: timeUs,
    body: new TextEncoder().encode(uid),
    columns,
  };
}
