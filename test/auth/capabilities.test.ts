import { expect, test } from "vitest";
import { type Capability, CapabilitySchema } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { readCapabilities } from "../../src/auth/capabilities.ts";

const [, one, other] = CapabilitySchema.values;

test("every capability of the contract has a name and a bit of its own", () => {
  const found = readCapabilities(CapabilitySchema);
  expect(found.size).toBe(CapabilitySchema.values.length - 1);
  expect(found.get(one!.number as Capability)).toMatchObject({ enumName: one!.name });
});

test("a bit or a name that is used twice is named", () => {
  const withOptionsOf = (from: typeof one) => ({
    ...CapabilitySchema,
    values: [from!, { ...other!, proto: { ...other!.proto, options: from!.proto.options } } as typeof other & {}],
  });
  expect(() => readCapabilities(withOptionsOf(one))).toThrow(
    new RegExp(`^${other!.name} in platform/capabilities/capabilities.proto has the name ".*" of ${one!.name}$`),
  );
});
