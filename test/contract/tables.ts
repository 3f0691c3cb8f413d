/** Tables and rows for the tests of the store. */
import type { FacetValue, Row, TableSpec } from "../../src/store/index.ts";

/** Names are unique below a parent. */
export const repos: TableSpec = { name: "repos", facets: { name: "text" } };

/** Nothing is unique; facets of both types. */
export const identities: TableSpec = {
  name: "identities",
  facets: { name: "text", relationship: "integer", issuer: "text", subject: "text", last_seen_us: "integer" },
};

/** Unique by parent and both facets. */
export const roleBindings: TableSpec = { name: "role_bindings", facets: { identity_uid: "text", role_uid: "text" } };

/** A set and a text to look into. */
export const advisories: TableSpec = { name: "advisories", facets: { terms: "texts", search: "search" } };

/** A row whose parent follows from its uid. */
export function newRow(
  uid: string,
  facets: Record<string, FacetValue> = {},
  timeUs = 1_700_000_000_000_000,
): Omit<Row, "version"> {
  return unnamedRow(uid, { name: uid, ...facets }, timeUs);
}

/** The same without a name. */
export function unnamedRow(
  uid: string,
  facets: Record<string, FacetValue>,
  timeUs = 1_700_000_000_000_000,
): Omit<Row, "version"> {
  const parent = uid.split("/").slice(0, -1).join("/");
  return {
    uid,
    parent,
    createTimeUs: timeUs,
    updateTimeUs: timeUs,
    body: new TextEncoder().encode(uid),
    facets,
  };
}
