/** What every part of the contract says of itself for generators of clients (AIP-203, AIP-4231, AIP-4232). */
import { type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { default_host, method_signature } from "../../gen/google/api/client_pb.ts";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { generatedServices } from "./generated.ts";

const methods = generatedServices.flatMap((service) => service.methods);

test("every service names its host", () => {
  for (const service of generatedServices)
    expect(getOption(service, default_host), service.typeName).toBe("platform.internal");
});

test.each(methods.map((method) => [`${method.parent.typeName}/${method.name}`, method] as const))(
  "%s has a signature of fields of its request, with all that is required",
  (_name, method) => {
    expect(hasOption(method, method_signature)).toBe(true);
    for (const signature of getOption(method, method_signature)) {
      const fields = signature === "" ? [] : signature.split(",");
      const { fields: known } = method.input;
      expect(known.map(({ name }) => name)).toEqual(expect.arrayContaining(fields));
      expect(fields).toEqual(expect.arrayContaining(known.filter(isRequired).map(({ name }) => name)));
    }
  },
);

test("every field says how it behaves, and none contradicts itself", () => {
  const fields = [...reachable()].flatMap((message) => message.fields);
  for (const field of fields) {
    const behaviors = getOption(field, field_behavior);
    expect(behaviors, String(field)).not.toEqual([]);
    const exclusive = [FieldBehavior.OPTIONAL, FieldBehavior.REQUIRED, FieldBehavior.OUTPUT_ONLY];
    expect(exclusive.filter((each) => behaviors.includes(each)).length, String(field)).toBeLessThan(2);
  }
  expect(fields.length).toBeGreaterThan(500);
});

/** The messages of the contract that methods take or answer, and those in them. */
function reachable(): Set<DescMessage> {
  const found = new Set<DescMessage>();
  const visit = (desc: DescMessage) => {
    if (found.has(desc) || !desc.typeName.startsWith("platform.")) return;
    found.add(desc);
    for (const { message } of desc.fields) if (message !== undefined) visit(message);
  };
  for (const { input, output } of methods) [input, output].forEach(visit);
  return found;
}

function isRequired(field: DescMessage["fields"][number]): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}
