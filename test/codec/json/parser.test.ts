import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type JsonNode, JsonNumber, JsonSyntaxError, parseJson } from "../../../src/codec/index.ts";

const number = (text: string) => new JsonNumber(text);
const object = (...members: [string, JsonNode][]) => new Map(members);

test.each<[string, JsonNode]>([
  ["null", null],
  [" true ", true],
  ["false", false],
  ["\t\r\n 0", 0],
  ["-12", -12],
  ["123456789012345", 123456789012345],
  ["9007199254740993", number("9007199254740993")],
  ["-0.5", number("-0.5")],
  ["1e3", number("1e3")],
  ["1E-3", number("1E-3")],
  ["1.50e+10", number("1.50e+10")],
  ['""', ""],
  ['"a\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9z"', 'a"\\/\b\f\n\r\téz'],
  ['"\\ud83d\\ude00"', "😀"],
  ['"😀é"', "😀é"],
  ['"\u007f\u2028"', "\u007f\u2028"],
  ["[]", []],
  ["[ 1 , [ ] , {} ]", [1, [], object()]],
  ["{}", object()],
  ['{ "b" : 1 , "a" : { "b" : 2 } }', object(["b", 1], ["a", object(["b", 2])])],
  ['{"__proto__":1,"constructor":2}', object(["__proto__", 1], ["constructor", 2])],
])("parses %s", (text, expected) => {
  expect(parseJson(text)).toEqual(expected);
  expect(parseJson(new TextEncoder().encode(text))).toEqual(expected);
});

test.each([
  ["", "unexpected end"],
  ["  ", "unexpected end"],
  ["\ufeff{}", 'unexpected "\ufeff" at position 0'],
  ["nul", 'unexpected "n" at position 0'],
  ["truee", 'unexpected "e" at position 4'],
  ["{}{}", 'unexpected "{" at position 2'],
  ["1 2", 'unexpected "2" at position 2'],
  ["NaN", 'unexpected "N" at position 0'],
  ["Infinity", 'unexpected "I" at position 0'],
  ["+1", 'unexpected "+" at position 0'],
  ["01", 'unexpected "1" at position 1'],
  ["1.", "unexpected end"],
  [".5", 'unexpected "." at position 0'],
  ["1e", "unexpected end"],
  ["-", "unexpected end"],
  ["0x10", 'unexpected "x" at position 1'],
  ["1_000", 'unexpected "_" at position 1'],
  ["'a'", 'unexpected "\'" at position 0'],
  ['"a', "unexpected end"],
  ['"a\nb"', 'unexpected "\\n" at position 2'],
  ['"\u0000"', 'unexpected "\\u0000" at position 1'],
  ['"\\x"', 'unexpected "x" at position 2'],
  ['"\\u12g4"', 'unexpected "u" at position 2'],
  ['"\\u0000"', "NUL character at position 1"],
  ['{"\\u0000":1}', "NUL character at position 2"],
  ['"\\ud800"', "lone surrogate before position 8"],
  ['"\\ude00\\ud83d"', "lone surrogate before position 14"],
  ['"\ud800"', "lone surrogate"],
  ["[1,]", 'unexpected "]" at position 3'],
  ["[1 2]", 'unexpected "2" at position 3'],
  ["[", "unexpected end"],
  ["[1}", 'unexpected "}" at position 2'],
  ['{"a":1,}', 'unexpected "}" at position 7'],
  ["{a:1}", 'unexpected "a" at position 1'],
  ['{"a" 1}', 'unexpected "1" at position 5'],
  ['{"a":1', "unexpected end"],
  ['{"a":1,"a":1}', "duplicate key at position 7"],
  ['{"a":1,"\\u0061":1}', "duplicate key at position 7"],
  ['{"__proto__":1,"__proto__":1}', "duplicate key at position 15"],
  ["/* */ 1", 'unexpected "/" at position 0'],
])("refuses %j", (text, message) => {
  expect(() => parseJson(text)).toThrow(new JsonSyntaxError(message));
});

test.each([
  [[0x22, 0xff, 0x22]],
  [[0x22, 0xc0, 0x80, 0x22]],
  [[0x22, 0xed, 0xa0, 0x80, 0x22]],
  [[0x22, 0xe2, 0x82, 0x22]],
])("refuses bytes that are not UTF-8: %j", (bytes) => {
  expect(() => parseJson(new Uint8Array(bytes))).toThrow(new JsonSyntaxError("malformed UTF-8"));
});

describe("nesting", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

  test("of 100 is accepted", () => {
    expect(parseJson(nested(100))).toBeInstanceOf(Array);
    expect(parseJson(`{"a":${nested(99)},"b":${nested(99)}}`)).toBeInstanceOf(Map);
  });

  test.each([nested(101), `{"a":${nested(100)}}`, "[".repeat(1_000_000), '{"a":'.repeat(200_000)])(
    "beyond is refused",
    (text) => {
      expect(() => parseJson(text)).toThrow(new JsonSyntaxError("nesting deeper than 100"));
    },
  );
});

/** Large integers stay exact; everything else is what JSON.parse makes of it. */
function plain(node: JsonNode): unknown {
  if (node instanceof JsonNumber) return Number(node.text);
  if (node instanceof Map) return Object.fromEntries([...node].map(([key, value]) => [key, plain(value)]));
  return Array.isArray(node) ? node.map(plain) : node;
}

test("agrees with JSON.parse on every JSON text", () => {
  const text = fc.json({ maxDepth: 6, stringUnit: "grapheme" }).filter((json) => !json.includes("\\u0000"));
  const property = fc.property(text, (json) => {
    expect(plain(parseJson(json))).toEqual(JSON.parse(json));
  });
  fc.assert(property, { numRuns: 500 });
});

test("accepts nothing that JSON.parse refuses", () => {
  const pieces = fc.constantFrom(...'{}[]",:0123.eE-+ntf\\u \n', "true", "null", '"a"', '"b":', "\\ud800");
  const text = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, (json) => {
      let parsed: unknown;
      try {
        parsed = plain(parseJson(json));
      } catch {
        return;
      }
      expect(parsed).toEqual(JSON.parse(json));
    }),
    { numRuns: 20_000 },
  );
});
