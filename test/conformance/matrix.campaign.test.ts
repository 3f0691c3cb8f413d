import { expect, test } from "vitest";
import { allMethods, methods } from "./contract.ts";
import { describeMatrix } from "./matrix.ts";
import { methodFixtures } from "./method-fixtures.ts";

describeMatrix(methods);

test("every fixture is of a method", () => {
  const gone = Object.keys(methodFixtures).filter((name) => !allMethods.has(name));
  expect(gone, "the contract has no such methods; remove them from method-fixtures.ts").toEqual([]);
});
