/**
 * The REST address of every method. Checks of breaking changes in proto files do not see HTTP rules, so the listing is
 * checked in.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { formatRoutes } from "../../src/cli/routes.ts";

test("the routes are those of routes.txt", () => {
  const checkedIn = readFileSync(join(import.meta.dirname, "routes.txt"), "utf8");
  expect(
    formatRoutes(),
    "an address has changed: if that is meant, run `npx platform-api routes > test/conformance/routes.txt`; an address that goes or changes breaks clients",
  ).toBe(checkedIn);
});
