import { create as createMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { createBinaryWriter } from "../../../src/codec/index.ts";
import { create, desc } from "../../rest/fixture.ts";
import { wireType } from "../wire-fixture.ts";

const type = desc("Everything");
const write = createBinaryWriter(type);

const ofText = (length: number) => create("Everything", { child: { stringValue: "é".repeat(length) } });

test("room is left for an envelope", () => {
  const message = create("Everything", { stringValue: "text" });
  const bytes = write(message, 5);
  expect(bytes).toHaveLength(5 + toBinary(type, message).length);
  expect(Buffer.compare(bytes.subarray(5), toBinary(type, message))).toBe(0);
});

test("what was written is not touched by what is written next", () => {
  const [first, second] = [ofText(10), ofText(20)];
  const bytes = write(first);
  write(second);
  expect(Buffer.compare(bytes, toBinary(type, first))).toBe(0);
});

test("the buffer grows wherever it ends, and is given up after a large message", () => {
  const initial = 16 * 1024;
  const large = ofText(2 ** 19);
  const child = {
    doubleValue: 0.5,
    floatValue: 0.5,
    int32Value: -1,
    int64Value: -1n,
    fixed32Value: 1,
    fixed64Value: 1n,
    boolValue: true,
    stringValue: "text".repeat(20),
    child: { bytesValue: new Uint8Array(200) },
    $unknown: [{ no: 99, wireType: 1, data: new Uint8Array(8) }],
  };
  for (let length = initial - 450; length <= initial; length++) {
    // Back to the initial size, and to short lengths.
    write(large);
    write(ofText(1));
    const message = create("Everything", { bytesValue: new Uint8Array(length), child });
    expect(Buffer.compare(write(message), toBinary(type, message))).toBe(0);
  }
  expect(Buffer.compare(write(large), toBinary(type, large))).toBe(0);
});

test("lengths that take more bytes than those before them, and fewer", () => {
  const sizes = [1, 200, 63, 64, 20_000, 3, 8191, 8192, 1];
  const message = create("Everything", {
    matches: sizes.map((size) => ({ issuer: "x".repeat(size) })),
    labels: Object.fromEntries(sizes.map((size, index) => [index, "é".repeat(size)])),
    child: { child: { child: { stringValue: "x".repeat(300) } }, int32s: sizes },
  });
  expect(Buffer.compare(write(message), toBinary(type, message))).toBe(0);
});

test.each<[string, object, string]>([
  ["int32Value", { int32Value: 2 ** 31 }, "int32_value"],
  ["int32Value", { int32Value: 1.5 }, "int32_value"],
  ["int32Value", { int32Value: 1n }, "BigInt"],
  ["int32s", { int32s: [0, Number.NaN] }, "int32s"],
  ["uint32Value", { uint32Value: -1 }, "uint32_value"],
  ["sfixed32Value", { sfixed32Value: -(2 ** 31) - 1 }, "sfixed32_value"],
  ["int64Value", { int64Value: 2n ** 63n }, "int64_value"],
  ["uint64Value", { uint64Value: -1n }, "uint64_value"],
  ["longString", { longString: "9223372036854775808" }, "long_string"],
  ["longString", { longString: "1e3" }, "BigInt"],
  ["floatValue", { floatValue: 1e39 }, "float_value"],
  ["kindsByNumber", { kindsByNumber: { x: 1 } }, "kinds_by_number"],
  ["kind", { kind: 0.5 }, "kind"],
  ["claimMatch", { claimMatch: create("Repo") }, "library.v1.Repo in the place of library.v1.ClaimMatch"],
])("%s cannot hold %o", (_, init, what) => {
  const message = create("Everything");
  Object.assign(message, init);
  expect(() => toBinary(type, message)).toThrow();
  expect(() => write(message)).toThrow(what);
  expect(Buffer.compare(write(ofText(3)), toBinary(type, ofText(3)))).toBe(0);
});

test("required fields must be set, defaults do not count", () => {
  const strict = wireType("wire2.Strict");
  const writeStrict = createBinaryWriter(strict) as (message: unknown) => Uint8Array;
  const init = (fields: object) => createMessage(strict, fields as never) as Message;
  expect(() => writeStrict(init({ name: "n" }))).toThrow("wire2.Strict.number is required");
  expect(() => writeStrict(init({ name: "n", number: 1, child: {} }))).toThrow("wire2.Strict.name is required");
  expect([...writeStrict(init({ name: "", number: 0 }))]).toEqual([0x0a, 0, 0x10, 0]);
});
