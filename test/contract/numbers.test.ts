/**
 * The numbers of what the contract has gained since its baseline. The public API, whose clients this server takes, may
 * use any number below 1001 at any time; see docs/decisions/0001-contract-and-numbers.md.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createFileRegistry, type DescEnum, type DescField, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { repository } from "../cli/platform-process.ts";
import { expectNoFaults } from "../faults.ts";
import { generatedServices, isOfV1, messagesIn, protoFile } from "./generated.ts";

const baseline = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(join(repository, "proto/baseline.binpb"))),
);
const methods = generatedServices.flatMap((service) => service.methods);
const messages = [...messagesIn(methods.flatMap(({ input, output }) => [input, output]))];

/** The names of the numbers that every message has for the same. */
const common: Readonly<Record<number, readonly string[]>> = {
  1001: ["uid", "validate_only"],
  1002: ["create_time", "force"],
  1003: ["update_time", "page_size", "next_page_token"],
  1004: ["etag", "page_token", "total_count"],
  1005: ["order_by", "skipped"],
  1006: ["skip"],
};
/** The one number of names that only this server has, in messages of the public API and in its own. */
const numbersOfNames: Readonly<Record<string, number>> = { validate_only: 1001, force: 1002, etag: 1004 };
const firstFree = 1010;

function isNew(field: DescField): boolean {
  const older = baseline.getMessage(field.parent.typeName);
  return older?.fields.every(({ number }) => number !== field.number) ?? false;
}

function isNewValue({ typeName }: DescEnum, value: number): boolean {
  return baseline.getEnum(typeName)?.values.every(({ number }) => number !== value) ?? false;
}

test("a field that the public API does not have has a number that it will not use", () => {
  const added = messages.flatMap(({ fields }) => fields.filter(isNew));
  expectNoFaults(
    added
      .filter(({ number, name }) => number < firstFree && !common[number]?.includes(name))
      .map(({ parent, name, number }) => {
        const place = `${protoFile(parent)}: ${parent.name}.${name} = ${number}`;
        return `${place}: a new field takes the next free number from ${firstFree} on (docs/changing-the-contract.md#field)`;
      }),
  );
  expect(messages.length).toBeGreaterThan(100);
});

test("what only this server has is called by one number everywhere", () => {
  expectNoFaults(
    messages
      .flatMap(({ file, fields }) => (isOfV1({ file }) ? [] : fields))
      .filter(({ name, number }) => Object.hasOwn(numbersOfNames, name) && numbersOfNames[name] !== number)
      .map(({ parent, name, number }) => {
        const place = `${protoFile(parent)}: ${parent.name}.${name} = ${number}`;
        return `${place}: the number of ${name} is ${numbersOfNames[name]} in every message`;
      }),
  );
});

test("an enum value that the public API does not have has a number that it will not use", () => {
  const enums = new Set(messages.flatMap(({ fields }) => fields.flatMap((field) => field.enum ?? [])));
  expectNoFaults(
    [...enums].flatMap((desc) =>
      desc.values
        .filter(({ number }) => isNewValue(desc, number) && number < firstFree)
        .map(({ name, number }) => {
          const place = `${protoFile(desc)}: ${name} = ${number}`;
          return `${place}: a new value takes a number from ${firstFree} on (docs/changing-the-contract.md#enum-value)`;
        }),
    ),
  );
});
