import { type DescMessage, fromBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { createBinaryReader, WireFormatError } from "../../../src/codec/index.ts";
import { type Any, create, desc } from "../../rest/fixture.ts";
import { wireType } from "../wire-fixture.ts";

const type = desc("Everything");

const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const read = (hex: string, of: DescMessage = type): Any => createBinaryReader(of)(bytesOf(hex));

/** Field `number` of so many messages inside each other. */
function nested(number: number, depth: number): string {
  let bytes = Buffer.alloc(0);
  for (let i = 0; i < depth; i++) {
    const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 0x7f) | 0x80, bytes.length >> 7];
    bytes = Buffer.concat([Buffer.from([(((number << 3) | 2) & 0x7f) | 0x80, number >> 4, ...length]), bytes]);
  }
  return bytes.toString("hex");
}

describe("is as lenient as the library", () => {
  test.each<[string, string, object]>([
    ["nothing", "", {}],
    ["the last value of a field", "1801 1802", { int32Value: 2 }],
    ["a varint of ten bytes", "18 8180808080 8080808000", { int32Value: 1 }],
    ["the bits that an int32 has no room for", "18 ffffffff ffffffffff01", { int32Value: -1 }],
    ["a bool of any bits", "68 8001", { boolValue: true }],
    ["a bool of the upper bits", "68 8080808080 8080808001", { boolValue: true }],
    ["a tag longer than it need be", "9880808000 05", { int32Value: 5 }],
    ["packed numbers", "820203 01 02 03", { int32s: [1, 2, 3] }],
    ["numbers both ways", "8002 01 820201 02 8002 03", { int32s: [1, 2, 3] }],
    ["an int32 whose tag says 64 bits", "1905", { int32Value: 5 }],
    ["an empty map entry", "ca0200", { labels: { "": "" } }],
    ["a map entry without a value", "ca02030a016b", { labels: { k: "" } }],
    ["a map entry without a message", "da02020801", { matchesByFlag: { true: {} } }],
    ["a map entry with its value first", "ca0206 120176 0a016b", { labels: { k: "v" } }],
    ["a map entry of __proto__", "ca020b 0a095f5f70726f746f5f5f", { labels: JSON.parse('{"__proto__":""}') }],
    ["merged messages", "b20103 0a0169 b20103 120173", { claimMatch: { issuer: "i", subject: "s" } }],
    ["merged wrappers", "c204020805 c20400", { int32Wrapper: 5 }],
    ["a replaced oneof", "9a0301 61 a00305", { choice: { case: "choiceLong", value: 5n } }],
    [
      "merged members of a oneof",
      "aa03030a0169 aa0303120173",
      { choice: { case: "choiceMatch", value: { issuer: "i", subject: "s" } } },
    ],
    ["an embedded message that its last value exceeds", "b20101 0a 0169", { claimMatch: { issuer: "i" } }],
    ["a byte order mark", "7206 efbbbf 616263", { stringValue: "\ufeffabc" }],
    ["a replacement character", "7203 efbfbd", { stringValue: "\ufffd" }],
  ])("%s", (_, hex, init) => {
    expect(read(hex)).toEqual(create("Everything", init));
    expect(read(hex)).toEqual(fromBinary(type, bytesOf(hex)));
  });

  test("messages 100 deep", () => {
    expect(read(nested(21, 99))).toEqual(fromBinary(type, bytesOf(nested(21, 99))));
    expect(read("bb01".repeat(99) + "bc01".repeat(99))).toHaveProperty("$unknown");
  });
});

test.each<[string, string]>([
  ["messages 101 deep", nested(21, 100)],
  ["unknown groups 101 deep", "bb01".repeat(100) + "bc01".repeat(100)],
  ["half a tag", "80"],
  ["a tag without a value", "18"],
  ["field number 0", "00 00"],
  ["wire type 6", "1e 00"],
  ["wire type 7", "1f 00"],
  ["a tag of more than 32 bits", "98808080 10 05"],
  ["a tag of more than five bytes", "988080808000 05"],
  ["a varint of eleven bytes", "18 8080808080 8080808080 00"],
  ["half a varint", "18 80"],
  ["half a fixed64", "51 00000000"],
  ["half a double", "09 00000000"],
  ["half a float", "15 000000"],
  ["half a text", "7205 61"],
  ["a text of 4 GiB", "72 ffffffff0f 61"],
  ["a message of 4 GiB", "b201 ffffffff0f 0a0169"],
  ["packed numbers of 4 GiB", "8202 ffffffff0f 01"],
  ["a half unknown field", "fa3f05 61"],
  ["a half unknown varint", "f83f 80"],
  ["malformed UTF-8", "7201 ff"],
  ["UTF-8 of a surrogate", "7203 eda080"],
  ["overlong UTF-8", "7202 c0af"],
  ["malformed UTF-8 beside a replacement character", "7204 efbfbd ff"],
  ["malformed UTF-8 in a map key", "ca02030a01ff"],
  ["an unknown group without an end", "f33f 0801"],
  ["an unknown group with the end of another", "f33f 0801 fc40"],
  ["the end of an unknown group", "f43f"],
])("refuses %s", (_, hex) => {
  expect(() => fromBinary(type, bytesOf(hex))).toThrow();
  expect(() => read(hex)).toThrow(WireFormatError);
});

test("text in a large input, short and long, ASCII and not", () => {
  const strings = ["a", "é", "x".repeat(100), "😀".repeat(100), "\ufffd", "x".repeat(5000)];
  const hex = strings
    .map((text) => {
      const length = Buffer.byteLength(text);
      const size = length < 128 ? [length] : [(length & 0x7f) | 0x80, length >> 7];
      return Buffer.from([0xfa, 0x01, ...size, ...Buffer.from(text)]).toString("hex");
    })
    .join("");
  expect(read(hex).strings).toEqual(strings);
  expect(() => read(`${hex} 7201 ff`)).toThrow("malformed UTF-8");
});

test("unknown fields are kept as they came, in their order", () => {
  const unknown = [
    { no: 1023, wireType: 0, data: bytesOf("808000") },
    { no: 1023, wireType: 1, data: bytesOf("0102030405060708") },
    { no: 1023, wireType: 2, data: bytesOf("0161") },
    { no: 1023, wireType: 3, data: bytesOf("0801fc3f") },
    { no: 1023, wireType: 5, data: bytesOf("01020304") },
  ];
  expect(read("f83f808000 f93f0102030405060708 fa3f0161 1805 fb3f0801fc3f fd3f01020304")).toEqual({
    ...create("Everything", { int32Value: 5 }),
    $unknown: unknown,
  });
});

test("bytes are views of the input", () => {
  const input = bytesOf("7a0161");
  const message: Any = createBinaryReader(type)(input);
  expect(message.bytesValue.buffer).toBe(input.buffer);
});

describe("proto2 and editions", () => {
  const proto2 = wireType("wire2.Everything");
  const editions = wireType("wire2023.Everything");

  test("unknown values of a closed enum are kept, beside unknown fields too", () => {
    expect(read("800105 980601", proto2).$unknown).toEqual([
      { no: 16, wireType: 0, data: bytesOf("05") },
      { no: 99, wireType: 0, data: bytesOf("01") },
    ]);
    expect(read("8001ffffffffffffffffff01", proto2).closed).toBe(-1);
  });

  test("groups, by either feature", () => {
    const hex = "9301 0a0161 13 0805 14 9401";
    expect(read(hex, proto2).detail).toMatchObject({ text: "a", line: [{ number: 5 }] });
    expect(read("73 2005 74", editions).delimited).toMatchObject({ explicitInt32: 5 });
    expect(() => read("73 2005", editions)).toThrow(WireFormatError);
    expect(() => read("73 2005 6c", editions)).toThrow(WireFormatError);
    expect(() => read("73".repeat(100) + "74".repeat(100), editions)).toThrow("nesting deeper than 100");
  });

  test("malformed UTF-8 is refused only where it is verified", () => {
    expect(read("7201ff", proto2).stringValue).toBe("\ufffd");
    expect(read("1a01ff", editions).lossyString).toBe("\ufffd");
    expect(() => read("1201ff", editions)).toThrow("malformed UTF-8");
  });

  test("defaults are not set", () => {
    expect(Object.keys(read("", proto2))).not.toContain("int32Value");
    expect(read("", proto2).int32Value).toBe(-3);
  });
});
