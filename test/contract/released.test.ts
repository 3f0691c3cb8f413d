/** What clients of the last release send stays valid: `buf breaking` does not know how fields behave. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFileRegistry, type DescField, fromBinary, getOption } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { expectNoFaults } from "../faults.ts";
import { generatedServices, messagesIn, protoFile } from "./generated.ts";

const baseline = readFileSync(join(import.meta.dirname, "../../proto/baseline.binpb"));
const released = createFileRegistry(fromBinary(FileDescriptorSetSchema, baseline));

test("no field of a released message has become REQUIRED or IMMUTABLE", () => {
  const requests = messagesIn(generatedServices.flatMap(({ methods }) => methods.map(({ input }) => input)));
  const known = [...requests].flatMap((message) => {
    const before = released.getMessage(message.typeName);
    return before === undefined ? [] : [{ message, before }];
  });
  expectNoFaults(
    known.flatMap(({ message, before }) =>
      message.fields.flatMap((field) => {
        const old = before.fields.find(({ number }) => number === field.number);
        const place = `${protoFile(message)}: ${message.name}.${field.name}`;
        if (isNow(FieldBehavior.REQUIRED, field, old))
          return [`${place} is REQUIRED, which released clients do not know`];
        const isFixed = old !== undefined && isNow(FieldBehavior.IMMUTABLE, field, old);
        return isFixed ? [`${place} has become IMMUTABLE, and released clients change it`] : [];
      }),
    ),
  );
  expect(known.length).toBeGreaterThan(100);
});

/** Whether a field behaves so, and did not when it was released. */
function isNow(behavior: FieldBehavior, field: DescField, old: DescField | undefined): boolean {
  const behaves = (each: DescField) => getOption(each, field_behavior).includes(behavior);
  return behaves(field) && (old === undefined || !behaves(old));
}
