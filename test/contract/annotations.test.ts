/** What every part of the contract says of itself for generators of clients (AIP-203, AIP-4231, AIP-4232). */
import { type DescMessage, type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { default_host, method_signature } from "../../gen/google/api/client_pb.ts";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { standardMethodOf } from "../../src/annotations.ts";
import { expectNoFaults } from "../faults.ts";
import { generatedServices, isOfV1, messagesIn, protoFile } from "./generated.ts";

const methods = generatedServices.flatMap((service) => service.methods);

test("every service names its host", () => {
  for (const service of generatedServices)
    expect(getOption(service, default_host), service.typeName).toBe("platform.internal");
});

test("every method has signatures of fields of its request, with all that is required", () => {
  expectNoFaults(
    methods.flatMap((method) => {
      if (!hasOption(method, method_signature)) return [`${placeOf(method)} has no google.api.method_signature`];
      return getOption(method, method_signature).flatMap((signature) => {
        const fields = signature === "" ? [] : signature.split(",");
        const known = method.input.fields.map(({ name }) => name);
        const required = method.input.fields.filter(isRequired).map(({ name }) => name);
        return [
          ...fields.filter((name) => !known.includes(name)).map((name) => `${name}, which is no field of the request`),
          ...required.filter((name) => !fields.includes(name)).map((name) => `no ${name}, which is required`),
        ].map((fault) => `${placeOf(method)} has a google.api.method_signature with ${fault}`);
      });
    }),
  );
  expect(methods.length).toBeGreaterThan(100);
});

const { NO_SIDE_EFFECTS, IDEMPOTENT } = MethodOptions_IdempotencyLevel;
const resource = ["uid", "create_time", "update_time", "etag"];

/** By the verb of a standard method: what a client may do once more, and the fields of its request and its response. */
const verbs: Readonly<Record<string, readonly [MethodOptions_IdempotencyLevel | undefined, string[], string[]]>> = {
  Get: [NO_SIDE_EFFECTS, ["uid"], resource],
  BatchGet: [NO_SIDE_EFFECTS, ["uids"], []],
  List: [
    NO_SIDE_EFFECTS,
    ["page_size", "page_token", "order_by", "skip"],
    ["next_page_token", "total_count", "skipped"],
  ],
  Create: [undefined, ["validate_only"], resource],
  Update: [IDEMPOTENT, ["update_mask", "validate_only"], resource],
  Delete: [IDEMPOTENT, ["uid", "validate_only", "etag"], []],
};
/** Those that may not be repeated, with the reason. */
const unrepeatable: Readonly<Record<string, string>> = {
  UpdateGroupInvite: "a `ttl` counts from the time of the call",
};

test("every standard method has the fields of its verb, and says whether it may be repeated", () => {
  const standard = methods.filter((method) => !isOfV1(method.parent) && standardMethodOf(method) !== undefined);
  expectNoFaults(
    standard.flatMap((method) => {
      const [level, request, response] = verbs[standardMethodOf(method)!.verb] ?? [undefined, [], []];
      const isLevel = level === undefined || method.idempotency === level || method.name in unrepeatable;
      return [
        ...(isLevel ? [] : [`${placeOf(method)} needs the idempotency_level ${MethodOptions_IdempotencyLevel[level]}`]),
        ...missingFields(method.input, request),
        ...missingFields(method.output, response),
      ];
    }),
  );
  expect(standard.length).toBeGreaterThan(50);
});

function missingFields(message: DescMessage, names: readonly string[]): string[] {
  return names
    .filter((name) => !message.fields.some((field) => field.name === name))
    .map((name) => `${protoFile(message)}: ${message.name} has no field ${name}`);
}

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

function placeOf({ parent, name }: DescMethod): string {
  return `${protoFile(parent)}: ${parent.name}.${name}`;
}

function isRequired(field: DescMessage["fields"][number]): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}
