import type { DescMethod } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { allMethods, methods } from "./contract.ts";
import { describeMatrix } from "./matrix.ts";
import { methodFixtures } from "./method-fixtures.ts";

/** What is sent or answered in pieces or as it is has tests of its own: uploads.test.ts. */
const isOfMessages = ({ methodKind, output }: DescMethod) =>
  methodKind === "unary" && output.typeName !== "google.api.HttpBody";

describeMatrix(new Map([...methods].filter(([, method]) => isOfMessages(method))));

test("every fixture is of a method", () => {
  const gone = Object.keys(methodFixtures).filter((name) => !allMethods.has(name));
  expect(gone, "the contract has no such methods; remove them from method-fixtures.ts").toEqual([]);
});
