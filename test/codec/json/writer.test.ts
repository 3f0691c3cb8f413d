import { create as createMessage, type Message, toJsonString } from "@bufbuild/protobuf";
import { anyPack, DurationSchema, EmptySchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { createJsonFieldWriter, createJsonWriter } from "../../../src/codec/index.ts";
import { create, desc, registry } from "../../rest/fixture.ts";
import { Random } from "../random.ts";
import { randomMessage } from "../random-message.ts";
import { wireType } from "../wire-fixture.ts";

const write = (message: Message, name = "Everything") => createJsonWriter(desc(name), { registry })(message);
const field = (name: string) => desc("Everything").fields.find((candidate) => candidate.name === name)!;

test("fields without presence always appear, others only when set", () => {
  expect(write(create("Repo"), "Repo")).toBe(
    '{"uid":"","name":"","description":"","total":"0","kind":"KIND_UNSPECIFIED","tags":[],"labels":{},"deprecated":false}',
  );
  expect(write(create("ListReposResponse"), "ListReposResponse")).toBe('{"repos":[],"totalCount":"0","skipped":0}');
  expect(write(create("ListReposResponse", { nextPageToken: "" }), "ListReposResponse")).toBe(
    '{"repos":[],"nextPageToken":"","totalCount":"0","skipped":0}',
  );
});

test.each(["wire2.Everything", "wire2023.Everything"])("any fields of %s may be unset", (name) => {
  const type = wireType(name);
  for (let seed = 0; seed < 1000; seed++) {
    const message = randomMessage(type, new Random(seed), 2);
    const expected = toJsonString(type, message, { alwaysEmitImplicit: true });
    expect(JSON.parse(createJsonWriter(type, { registry })(message)), `seed ${seed}`).toEqual(JSON.parse(expected));
  }
});

test("a message without fields is {}", () => {
  const json = JSON.parse(write(create("Everything", { empty: {} })));
  expect(json.empty).toEqual({});
});

test.each<[string, object, unknown]>([
  ["int64Value", { int64Value: -(2n ** 63n) }, "-9223372036854775808"],
  ["uint64Value", { uint64Value: 2n ** 64n - 1n }, "18446744073709551615"],
  ["longString", { longString: "12" }, "12"],
  ["doubleValue", { doubleValue: Number.NaN }, "NaN"],
  ["doubleValue", { doubleValue: Number.NEGATIVE_INFINITY }, "-Infinity"],
  ["doubleValue", { doubleValue: 1e300 }, 1e300],
  ["floatValue", { floatValue: 0.5 }, 0.5],
  ["kind", { kind: 1 }, "KIND_PAPER"],
  ["kind", { kind: 42 }, 42],
  ["kindsByNumber", { kindsByNumber: { 7: 2, [-1]: 9 } }, { 7: "KIND_AUDIO", "-1": 9 }],
  ["bytesValue", { bytesValue: new Uint8Array([251, 255]) }, "+/8="],
  ["stringValue", { stringValue: 'a"\\\n\u0001é😀' }, 'a"\\\n\u0001é😀'],
  ["labels", { labels: { 'k"': "v" } }, { 'k"': "v" }],
  ["@odd", { oddName: "x" }, "x"],
  ["constructor", { constructor$: "x" }, "x"],
  ["createTime", { createTime: timestampFromMs(21_000) }, "1970-01-01T00:00:21.000Z"],
  ["times", { times: [timestampFromMs(1)] }, ["1970-01-01T00:00:00.001Z"]],
  ["ttl", { ttl: { seconds: 1n, nanos: 5e8 } }, "1.500s"],
  ["mask", { mask: { paths: ["claim_match.subject"] } }, "claimMatch.subject"],
  ["int64Wrapper", { int64Wrapper: 5n }, "5"],
  ["stringWrapper", { stringWrapper: "" }, ""],
  ["bytesWrapper", { bytesWrapper: new Uint8Array([1]) }, "AQ=="],
  ["choiceWrapper", { choice: { case: "choiceWrapper", value: { value: "w" } } }, "w"],
  ["choiceNull", { choice: { case: "choiceNull", value: 0 } }, null],
  ["choiceString", { choice: { case: "choiceString", value: "" } }, ""],
  ["nullValue", {}, null],
  ["struct", { struct: { a: [1, null, { b: "c" }], __proto__: null } }, { a: [1, null, { b: "c" }] }],
  ["value", { value: { kind: { case: "nullValue", value: 0 } } }, null],
  ["listValue", { listValue: { values: [{ kind: { case: "boolValue", value: true } }] } }, [true]],
])("%s of %o", (name, init, expected) => {
  expect(JSON.parse(write(create("Everything", init)))[name]).toEqual(expected);
});

test("lone surrogates are escaped, so that the text stays well-formed", () => {
  expect(write(create("ClaimMatch", { issuer: "\ud800" }), "ClaimMatch")).toBe('{"issuer":"\\ud800","subject":""}');
});

test("an Any carries its type, and the value of a well-known type under a key", () => {
  const claim = anyPack(desc("ClaimMatch"), create("ClaimMatch", { issuer: "i" }));
  expect(write(create("Everything", { any: claim }))).toContain(
    '"any":{"@type":"type.googleapis.com/library.v1.ClaimMatch","issuer":"i","subject":""}',
  );
  const duration = anyPack(DurationSchema, createMessage(DurationSchema, { seconds: 3n }));
  expect(write(create("Everything", { any: duration }))).toContain(
    '"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"3s"}',
  );
  const empty = anyPack(EmptySchema, createMessage(EmptySchema));
  expect(write(create("Everything", { any: empty }))).toContain(
    '"any":{"@type":"type.googleapis.com/google.protobuf.Empty"}',
  );
});

test.each<[object]>([
  [{ any: { typeUrl: "type.googleapis.com/no.Such", value: new Uint8Array() } }],
  [{ value: {} }],
  [{ value: { kind: { case: "numberValue", value: Number.NaN } } }],
  [{ struct: { a: Number.POSITIVE_INFINITY } }],
  [{ mask: { paths: ["a_1"] } }],
  [{ createTime: { seconds: 10n ** 12n, nanos: 0 } }],
])("refuses what ProtoJSON cannot express: %o", (init) => {
  expect(() => write(create("Everything", init))).toThrow();
});

test.each<[string, object, string]>([
  ["strings", {}, "[]"],
  ["labels", { labels: { a: "b" } }, '{"a":"b"}'],
  ["int64_value", {}, '"0"'],
  ["child", {}, "null"],
  ["optional_string", {}, "null"],
  ["optional_string", { optionalString: "x" }, '"x"'],
  ["claim_match", { claimMatch: {} }, '{"issuer":"","subject":""}'],
])("one field alone: %s of %o", (name, init, text) => {
  expect(createJsonFieldWriter(field(name), { registry })(create("Everything", init))).toBe(text);
});
