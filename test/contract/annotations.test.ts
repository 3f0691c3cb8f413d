/** What every part of the contract says of itself for generators of clients (AIP-203, AIP-4231, AIP-4232). */
import { type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { default_host, method_signature } from "../../gen/google/api/client_pb.ts";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { expectNoFaults } from "../faults.ts";
import { generatedServices, messagesIn, protoFile } from "./generated.ts";

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
  const messages = messagesIn(methods.flatMap(({ input, output }) => [input, output]));
  const fields = [...messages].flatMap((message) => message.fields);
  const exclusive = [FieldBehavior.OPTIONAL, FieldBehavior.REQUIRED, FieldBehavior.OUTPUT_ONLY];
  expectNoFaults(
    fields.flatMap((field) => {
      const behaviors = getOption(field, field_behavior);
      const place = `${protoFile(field.parent)}: ${field.parent.name}.${field.name}`;
      if (behaviors.length === 0) return [`${place} has no google.api.field_behavior`];
      const contradicts = exclusive.filter((each) => behaviors.includes(each)).length > 1;
      return contradicts ? [`${place} is more than one of OPTIONAL, REQUIRED and OUTPUT_ONLY`] : [];
    }),
  );
  expect(fields.length).toBeGreaterThan(500);
});

function isRequired(field: DescMessage["fields"][number]): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}
