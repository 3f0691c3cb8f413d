/** What a client sends is bounded by value rules, so that neither a row nor an answer can be of any size. */
import { create, type DescField, getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import {
  type FieldRules,
  field as fieldRules,
  Ignore,
  type StringRules,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { expect, test } from "vitest";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.ts";
import { resource, resource_reference } from "../../gen/google/api/resource_pb.ts";
import { standardMethodOf } from "../../src/annotations.ts";
import { violationsOf } from "../../src/contract/index.ts";
import { expectNoFaults } from "../faults.ts";
import { generatedServices, isOfV1, messagesIn, protoFile } from "./generated.ts";

const methods = generatedServices.flatMap((service) => service.methods);
const fields = [...messagesIn(methods.map(({ input }) => input))]
  .flatMap((message) => message.fields)
  .filter((field) => !getOption(field, field_behavior).includes(FieldBehavior.OUTPUT_ONLY));

test("every text, list and map that clients send is bounded", () => {
  expectNoFaults(
    fields.flatMap((field) => {
      const place = `${protoFile(field.parent)}: ${field.parent.name}.${field.name}`;
      return missingRules(field).map((rule) => `${place} needs a value rule: ${rule} of (buf.validate.field)`);
    }),
  );
  expect(fields.length).toBeGreaterThan(300);
});

test("every enum that clients send has only the values that are defined", () => {
  expectNoFaults(
    fields.flatMap((field) => {
      if (field.fieldKind !== "enum") return [];
      const { type } = getOption(field, fieldRules);
      if (type.case === "enum" && type.value.definedOnly) return [];
      return [`${protoFile(field.parent)}: ${field.parent.name}.${field.name} needs the value rule enum.defined_only`];
    }),
  );
});

test("a resource that a request creates or changes is checked when it is merged with what is stored", () => {
  const changes = generatedServices
    .filter((service) => !isOfV1(service))
    .flatMap((service) => service.methods)
    .filter((method) => /^(Create|Update)$/.test(standardMethodOf(method)?.verb ?? ""));
  expectNoFaults(
    changes.flatMap(({ input, output }) => {
      const field = input.fields.find(({ message }) => message === output);
      if (field === undefined || getOption(field, fieldRules).ignore === Ignore.ALWAYS) return [];
      return [`${protoFile(input)}: ${input.name}.${field.name} needs (buf.validate.field).ignore = IGNORE_ALWAYS`];
    }),
  );
  expect(changes.length).toBeGreaterThan(15);
});

/** Fields that are never empty though OPTIONAL: a role has had a capability from the first. */
const neverEmpty = ["Role.capabilities"];

test("a field that is OPTIONAL may be empty, as it is in rows from before it", () => {
  const resources = generatedServices
    .filter((service) => !isOfV1(service))
    .flatMap(({ file }) => file.messages.filter((message) => hasOption(message, resource)));
  expectNoFaults(
    resources.flatMap((message) => {
      const optional = message.fields.filter((each) =>
        getOption(each, field_behavior).includes(FieldBehavior.OPTIONAL),
      );
      const isConcerned = ([first]: readonly { kind: string }[]) => optional.some((each) => each === first);
      return violationsOf(message, create(message), isConcerned)
        .map(({ field }) => `${message.name}.${field}`)
        .filter((name) => !neverEmpty.includes(name))
        .map((name) => `${protoFile(message)}: the value rule of ${name} refuses its zero value`);
    }),
  );
  expect(resources.length).toBeGreaterThan(15);
});

/** The value rules that would bound a field and are missing. */
function missingRules(field: DescField): string[] {
  const rules = getOption(field, fieldRules);
  const { type } = rules;
  if (field.fieldKind === "list") {
    const { maxItems = 0n, items = undefined } = type.case === "repeated" ? type.value : {};
    const missing = maxItems > 0n ? [] : ["repeated.max_items"];
    return isBounded(field, field.scalar, items) ? missing : [...missing, "repeated.items.string.max_len"];
  }
  if (field.fieldKind === "map") {
    const { maxPairs = 0n, keys = undefined, values = undefined } = type.case === "map" ? type.value : {};
    const missing = maxPairs > 0n ? [] : ["map.max_pairs"];
    if (!isBounded(field, field.mapKey, keys)) missing.push("map.keys.string.max_len");
    return isBounded(field, field.scalar, values) ? missing : [...missing, "map.values.string.max_len"];
  }
  return isBounded(field, field.scalar, rules) ? [] : ["string.max_len or string.pattern"];
}

/** Whether a value that is a text has a longest one. A reference is bounded by the check that it is a uid. */
function isBounded(field: DescField, scalar: ScalarType | undefined, rules: FieldRules | undefined): boolean {
  if (scalar !== ScalarType.STRING && scalar !== ScalarType.BYTES) return true;
  if (getOption(field, resource_reference).type !== "") return true;
  const { case: kind, value } = rules?.type ?? { case: undefined };
  if (kind === "bytes") return value.maxLen > 0n || value.len > 0n;
  return kind === "string" && isBoundedText(value);
}

function isBoundedText({ maxLen, maxBytes, len, in: values, wellKnown, pattern }: StringRules): boolean {
  if (maxLen > 0n || maxBytes > 0n || len > 0n || values.length > 0 || wellKnown.case !== undefined) return true;
  const outsideClasses = pattern.replace(/\\./g, "").replace(/\[.*?\]/g, "");
  return /^\^.*\$$/.test(pattern) && !/[*+]|,\}/.test(outsideClasses);
}
