/** Every table of rows is that of tenants, or is known to be shared. */
import { afterAll, expect, test } from "vitest";
import { tenantTables } from "../../src/services/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { expectNoFaults } from "../faults.ts";

/** The tables whose rows do not belong to one organisation each. */
const shared = [
  "advisories", // merged of feeds
  "affected_packages",
  "artifact_versions",
  "artifacts",
  "component_matches",
  "components",
  "documents",
  "exploit_scores",
  "feed_advisories",
  "feed_documents",
  "idempotent_answers",
  "known_exploits",
  "products",
  "sessions",
  "vulnerabilities",
  "vulnerability_metadata",
  "vulnerability_records",
];

const database = await openDatabase("sqlite::memory:");
afterAll(() => database.close());

test("the first is that of groups, next to which the others are placed", () => {
  expect(tenantTables[0]).toBe("groups");
});

test("every table of rows is one of a tenant, or is shared", () => {
  const tables = new Set(
    database
      .indexes()
      .filter(({ columns }) => columns.join() === "parent,uid")
      .map(({ table }) => table),
  );
  expectNoFaults(
    [...tables]
      .filter((table) => tenantTables.includes(table) === shared.includes(table))
      .map((table) => `${table}: list it in src/services/tenant-tables.ts, or as shared in this test`),
  );
  expectNoFaults(tenantTables.filter((table) => !tables.has(table)).map((table) => `there is no table ${table}`));
});
