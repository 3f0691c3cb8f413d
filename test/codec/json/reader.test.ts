import { clone, toBinary } from "@bufbuild/protobuf";
import { anyUnpack, DurationSchema, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, test } from "vitest";
import {
  createJsonFieldReader,
  createJsonReader,
  fieldPathsOf,
  parseJson,
  Violations,
} from "../../../src/codec/index.ts";
import { type Any, compile, create, desc, fileProto, registry } from "../../rest/fixture.ts";

const type = desc("Everything");

function read(text: string, options: { ignoreUnknownFields?: boolean } = {}): Any {
  const violations = new Violations();
  const message = createJsonReader(type, { registry, ...options })(parseJson(text), violations);
  return violations.list.length === 0
    ? message
    : violations.list.map(({ field, description }) => `${field}: ${description}`);
}

test.each<[string, object]>([
  ["{}", {}],
  ['{"stringValue":"a"}', { stringValue: "a" }],
  ['{"string_value":"a"}', { stringValue: "a" }],
  ['{"@odd":"a"}', { oddName: "a" }],
  ['{"odd_name":"a"}', { oddName: "a" }],
  ['{"constructor":"a"}', { constructor$: "a" }],
  ['{"int32Value":1}', { int32Value: 1 }],
  ['{"int32Value":"-1"}', { int32Value: -1 }],
  ['{"int32Value":1e2}', { int32Value: 100 }],
  ['{"int32Value":"1e2"}', { int32Value: 100 }],
  ['{"int32Value":1.0}', { int32Value: 1 }],
  ['{"int32Value":120e-1}', { int32Value: 12 }],
  ['{"int32Value":-0}', { int32Value: 0 }],
  ['{"uint32Value":4294967295}', { uint32Value: 4294967295 }],
  ['{"int64Value":9007199254740993}', { int64Value: 9007199254740993n }],
  ['{"int64Value":"9007199254740993"}', { int64Value: 9007199254740993n }],
  ['{"int64Value":-9223372036854775808}', { int64Value: -(2n ** 63n) }],
  ['{"uint64Value":18446744073709551615}', { uint64Value: 2n ** 64n - 1n }],
  ['{"int64Value":9.007199254740993e15}', { int64Value: 9007199254740993n }],
  ['{"int64Value":0e999999999999}', { int64Value: 0n }],
  ['{"longString":5}', { longString: "5" }],
  ['{"doubleValue":"NaN"}', { doubleValue: Number.NaN }],
  ['{"doubleValue":"-Infinity"}', { doubleValue: Number.NEGATIVE_INFINITY }],
  ['{"doubleValue":"1.5e3"}', { doubleValue: 1500 }],
  ['{"floatValue":"Infinity"}', { floatValue: Number.POSITIVE_INFINITY }],
  ['{"boolValue":true}', { boolValue: true }],
  ['{"bytesValue":"-_8"}', { bytesValue: new Uint8Array([251, 255]) }],
  ['{"kind":"KIND_AUDIO"}', { kind: 2 }],
  ['{"kind":1}', { kind: 1 }],
  ['{"kind":1.0}', { kind: 1 }],
  ['{"kind":77}', { kind: 77 }],
  ['{"kind":-2147483648}', { kind: -2147483648 }],
  ['{"optionalString":"","optionalInt32":0}', { optionalString: "", optionalInt32: 0 }],
  ['{"strings":["a",""],"int64s":["1",2]}', { strings: ["a", ""], int64s: [1n, 2n] }],
  ['{"matches":[{},{"issuer":"i"}]}', { matches: [{}, { issuer: "i" }] }],
  [
    '{"kindsByNumber":{"-1":"KIND_PAPER"},"doublesByLong":{"0":1.5}}',
    { kindsByNumber: { "-1": 1 }, doublesByLong: { 0: 1.5 } },
  ],
  ['{"matchesByFlag":{"true":{}}}', { matchesByFlag: { true: {} } }],
  ['{"child":{"child":{"claimMatch":{"subject":"s"}}}}', { child: { child: { claimMatch: { subject: "s" } } } }],
  ['{"choiceLong":"5"}', { choice: { case: "choiceLong", value: 5n } }],
  ['{"choiceNull":null}', { choice: { case: "choiceNull", value: 0 } }],
  ['{"choiceString":null,"choiceLong":1}', { choice: { case: "choiceLong", value: 1n } }],
  ['{"choiceWrapper":"x"}', { choice: { case: "choiceWrapper", value: { value: "x" } } }],
  ['{"createTime":"1970-01-01T00:00:01.5Z"}', { createTime: { seconds: 1n, nanos: 500_000_000 } }],
  ['{"ttl":"-1.5s"}', { ttl: { seconds: -1n, nanos: -500_000_000 } }],
  ['{"mask":"claimMatch.subject,create_time"}', { mask: { paths: ["claim_match.subject", "create_time"] } }],
  ['{"mask":"a,,b"}', { mask: { paths: ["a", "", "b"] } }],
  ['{"int64Wrapper":"5","boolWrapper":false}', { int64Wrapper: 5n, boolWrapper: false }],
  ['{"stringWrappers":["a"]}', { stringWrappers: [{ value: "a" }] }],
  ['{"value":null}', { value: { kind: { case: "nullValue", value: 0 } } }],
  [
    '{"values":[null,1.5]}',
    { values: [{ kind: { case: "nullValue", value: 0 } }, { kind: { case: "numberValue", value: 1.5 } }] },
  ],
  ['{"struct":{"a":[1,2.5,{"b":null}],"c":true}}', { struct: { a: [1, 2.5, { b: null }], c: true } }],
  ['{"empty":{}}', { empty: {} }],
  ['{"any":{}}', { any: {} }],
])("reads %s", (json, init) => {
  expect(toBinary(type, read(json))).toEqual(toBinary(type, create("Everything", init)));
});

test("null leaves every field unset", () => {
  const names = type.fields.map(({ jsonName }) => jsonName).filter((name) => !["value", "choiceNull"].includes(name));
  expect(read(JSON.stringify(Object.fromEntries(names.map((name) => [name, null]))))).toEqual(create("Everything"));
});

test("reads an Any by its type", () => {
  const duration = read('{"any":{"value":"3s","@type":"type.googleapis.com/google.protobuf.Duration"}}');
  expect(anyUnpack(duration.any, DurationSchema)?.seconds).toBe(3n);
  const claim = read('{"any":{"@type":"type.googleapis.com/library.v1.ClaimMatch","subject":"s"}}');
  expect(anyUnpack(claim.any, registry)).toEqual(create("ClaimMatch", { subject: "s" }));
});

test("__proto__ is a key like any other", () => {
  const message = read('{"labels":{"__proto__":"x"},"struct":{"__proto__":{"y":1}}}');
  expect(Object.getOwnPropertyDescriptor(message.labels, "__proto__")?.value).toBe("x");
  expect(Object.getPrototypeOf(message.struct)).toBe(Object.prototype);
  expect(Object.keys(message.struct)).toEqual(["__proto__"]);
  expect(read('{"__proto__":{"stringValue":"x"}}')).toEqual(["__proto__: unknown field"]);
});

test.each<[string, string]>([
  ["[]", ": must be an object"],
  ["null", ": must be an object"],
  ['{"nope":1}', "nope: unknown field"],
  ['{"child":{"nope":1}}', "child.nope: unknown field"],
  ['{"StringValue":"a"}', "StringValue: unknown field"],
  ['{"stringValue":"a","string_value":"a"}', "string_value: given twice, as string_value and stringValue"],
  ['{"string_value":null,"stringValue":null}', "string_value: given twice, as string_value and stringValue"],
  ['{"stringValue":1}', "string_value: must be a string"],
  ['{"boolValue":"true"}', "bool_value: must be true or false"],
  ['{"boolValue":1}', "bool_value: must be true or false"],
  ['{"int32Value":1.5}', "int32_value: must be an integer from -2147483648 to 2147483647"],
  ['{"int32Value":2147483648}', "int32_value: must be an integer from -2147483648 to 2147483647"],
  ['{"int32Value":""}', "int32_value: must be an integer from -2147483648 to 2147483647"],
  ['{"int32Value":" 1"}', "int32_value: must be an integer from -2147483648 to 2147483647"],
  ['{"int32Value":"0x10"}', "int32_value: must be an integer from -2147483648 to 2147483647"],
  ['{"int32Value":"01"}', "int32_value: must be an integer from -2147483648 to 2147483647"],
  ['{"int32Value":true}', "int32_value: must be an integer from -2147483648 to 2147483647"],
  ['{"uint32Value":-1}', "uint32_value: must be an integer from 0 to 4294967295"],
  [
    '{"int64Value":9223372036854775808}',
    "int64_value: must be an integer from -9223372036854775808 to 9223372036854775807",
  ],
  ['{"int64Value":1e999999999999}', "int64_value: must be an integer from -9223372036854775808 to 9223372036854775807"],
  ['{"uint64Value":18446744073709551616}', "uint64_value: must be an integer from 0 to 18446744073709551615"],
  ['{"doubleValue":1e999}', "double_value: must be a number"],
  ['{"doubleValue":"nan"}', "double_value: must be a number"],
  ['{"doubleValue":""}', "double_value: must be a number"],
  ['{"floatValue":1e39}', "float_value: must be a number of single precision"],
  ['{"bytesValue":"*"}', "bytes_value: must be base64"],
  ['{"bytesValue":[1]}', "bytes_value: must be base64"],
  ['{"kind":"KIND_NOPE"}', "kind: must be one of KIND_UNSPECIFIED, KIND_PAPER, KIND_AUDIO"],
  ['{"kind":"1"}', "kind: must be one of KIND_UNSPECIFIED, KIND_PAPER, KIND_AUDIO"],
  ['{"kind":2147483648}', "kind: must be one of KIND_UNSPECIFIED, KIND_PAPER, KIND_AUDIO"],
  ['{"strings":"a"}', "strings: must be an array"],
  ['{"strings":["a",null]}', "strings[1]: must not be null"],
  ['{"matches":[{},{"subject":1}]}', "matches[1].subject: must be a string"],
  ['{"labels":[]}', "labels: must be an object"],
  ['{"labels":{"k":1}}', 'labels["k"]: must be a string'],
  ['{"labels":{"k":null}}', 'labels["k"]: must not be null'],
  ['{"kindsByNumber":{"x":1}}', 'kinds_by_number["x"]: invalid key'],
  ['{"kindsByNumber":{"01":1}}', 'kinds_by_number["01"]: invalid key'],
  ['{"kindsByNumber":{"0":1,"-0":1}}', 'kinds_by_number["-0"]: duplicate key'],
  ['{"matchesByFlag":{"1":{}}}', 'matches_by_flag["1"]: invalid key'],
  ['{"matchesByFlag":{"true":{"subject":1}}}', 'matches_by_flag["true"].subject: must be a string'],
  ['{"choiceString":"a","choiceLong":1}', "choice_long: cannot be given with choice_string"],
  ['{"createTime":"2023-02-30T00:00:00Z"}', "create_time: must be an RFC 3339 timestamp"],
  ['{"ttl":"5"}', 'ttl: must be a duration in seconds, such as "1.5s"'],
  [`{"mask":"${"a,".repeat(1000)}a"}`, "mask: must be at most 1000 comma-separated field paths"],
  ['{"int32Wrapper":"x"}', "int32_wrapper: must be an integer from -2147483648 to 2147483647"],
  ['{"empty":{"a":1}}', "empty.a: unknown field"],
  ['{"struct":[]}', "struct: must be an object"],
  ['{"struct":{"a":1e999}}', "struct: must be a number of double precision"],
  ['{"value":[1e999]}', "value: must be a number of double precision"],
  ['{"listValue":{}}', "list_value: must be an array"],
  ['{"any":[]}', "any: must be an object"],
  ['{"any":{"a":1}}', "any.@type: must be a type URL"],
  ['{"any":{"@type":"type.googleapis.com/no.Such"}}', "any.@type: unknown type"],
  ['{"any":{"@type":"type.googleapis.com/library.v1.ClaimMatch","subject":1}}', "any.subject: must be a string"],
  [
    '{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":1}}',
    'any.value: must be a duration in seconds, such as "1.5s"',
  ],
  ['{"any":{"@type":"type.googleapis.com/google.protobuf.Duration"}}', "any: must have the members @type and value"],
])("refuses %s", (json, violation) => {
  expect(read(json)).toEqual([violation]);
});

test("all violations are noted, in the order of the text, until there are more than a response lists", () => {
  expect(read('{"b":1,"stringValue":2,"a":3}')).toEqual([
    "b: unknown field",
    "string_value: must be a string",
    "a: unknown field",
  ]);
  expect(read(`{"strings":[${Array(500).fill(1)}]}`)).toHaveLength(21);
});

test("names chosen by the client are cut", () => {
  expect(read(JSON.stringify({ ["k".repeat(1000)]: 1 }))).toEqual([`${"k".repeat(64)}…: unknown field`]);
  expect(read(JSON.stringify({ labels: { ["k".repeat(1000)]: 1 } }))).toEqual([
    `labels["${"k".repeat(64)}…"]: must be a string`,
  ]);
});

describe("ignoring unknown fields", () => {
  test("skips them at every depth", () => {
    const message = read('{"a":{"b":1},"child":{"nope":[1],"stringValue":"x"}}', { ignoreUnknownFields: true });
    expect(message).toEqual(create("Everything", { child: { stringValue: "x" } }));
  });

  test("still refuses unknown enum names", () => {
    expect(read('{"kind":"KIND_NOPE"}', { ignoreUnknownFields: true })).toHaveLength(1);
  });
});

test.each<[string, string, unknown]>([
  ["claim_match", '{"subject":"s"}', create("ClaimMatch", { subject: "s" })],
  ["claim_match", "null", undefined],
  ["int64_wrapper", '"5"', 5n],
  ["struct", '{"a":1}', { a: 1 }],
])("one field alone: %s from %s", (name, json, expected) => {
  const violations = new Violations();
  const field = type.fields.find((candidate) => candidate.name === name)!;
  expect(createJsonFieldReader(field, { registry })(parseJson(json), violations)).toEqual(expected);
  expect(violations.list).toEqual([]);
});

test("a json_name wins over the name of another field", () => {
  const proto = clone(FileDescriptorProtoSchema, fileProto);
  const { field } = proto.messageType.find(({ name }) => name === "Everything")!;
  field.find(({ name }) => name === "constructor")!.jsonName = "other";
  field.find(({ name }) => name === "string_value")!.jsonName = "constructor";
  const renamed = compile(proto).getMessage("library.v1.Everything")!;
  const violations = new Violations();
  const json = parseJson('{"constructor":"a","other":"b"}');
  const message = createJsonReader(renamed, { registry })(json, violations);
  expect([violations.list, message]).toMatchObject([[], { stringValue: "a", constructor$: "b" }]);
  expect(fieldPathsOf(renamed, json)).toEqual(["string_value", "constructor"]);
});
