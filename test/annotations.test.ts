/** Options of descriptors, against what the library reads each time. */
import { type DescField, type DescMessage, getOption as decodeOption } from "@bufbuild/protobuf";
import { field as rules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { expect, test } from "vitest";
import { field_behavior } from "../gen/google/api/field_behavior_pb.ts";
import { resource } from "../gen/google/api/resource_pb.ts";
import { is_set } from "../gen/platform/annotations/annotations_pb.ts";
import { getOption } from "../src/annotations.ts";
import { contractTypes } from "./codec/message-types.ts";

const fields: DescField[] = contractTypes.flatMap((type: DescMessage) => type.fields);

test.each([rules, field_behavior, is_set])("$typeName of each field is what the library reads", (option) => {
  for (const field of fields) {
    expect(getOption(field, option)).toEqual(decodeOption(field, option));
    expect(getOption(field, option)).toBe(getOption(field, option));
  }
});

test("the option of one type is not that of another", () => {
  const types = new Set(contractTypes.map((type) => getOption(type, resource).type));
  expect(types).toEqual(new Set(contractTypes.map((type) => decodeOption(type, resource).type)));
  expect(types.size).toBeGreaterThan(9);
});
