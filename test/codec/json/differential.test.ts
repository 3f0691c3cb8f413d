/** Our reader and writer against the library's, on generated messages. */
import { fromJsonString, toBinary, toJsonString } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createJsonReader, createJsonWriter, parseJson, Violations } from "../../../src/codec/index.ts";
import { desc, registry } from "../../rest/fixture.ts";
import { everything } from "../arbitrary-message.ts";

const type = desc("Everything");
const write = createJsonWriter(type, { registry });
const read = createJsonReader(type, { registry });

function readText(text: string) {
  const violations = new Violations();
  const message = read(parseJson(text), violations);
  expect(violations.list).toEqual([]);
  return message;
}

test("the writer gives the library's JSON", () => {
  const property = fc.property(everything, (message) => {
    const expected = toJsonString(type, message, { alwaysEmitImplicit: true, registry });
    expect(JSON.parse(write(message))).toEqual(JSON.parse(expected));
  });
  fc.assert(property, { numRuns: 300 });
});

test("the reader gives the library's message", () => {
  const property = fc.property(everything, (message) => {
    const json = toJsonString(type, message, { registry });
    expect(toBinary(type, readText(json))).toEqual(toBinary(type, fromJsonString(type, json, { registry })));
  });
  fc.assert(property, { numRuns: 300 });
});

test("what was written is read back the same", () => {
  const property = fc.property(everything, (message) => {
    expect(toBinary(type, readText(write(message)))).toEqual(toBinary(type, message));
  });
  fc.assert(property, { numRuns: 300 });
});
