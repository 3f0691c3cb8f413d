/**
 * Readers of the values that are a single JSON scalar: proto scalars, enums, and the well-known types with a text or
 * bare form (Timestamp, Duration, FieldMask, wrappers). They read JSON bodies and URL parameters.
 */
import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { listedValues } from "../../violations.ts";
import { isUnwrapped, newMessage, wrapperValue } from "../message-fields.ts";
import { fieldLimits } from "./field-limits.ts";
import { type JsonNode, JsonNumber } from "./parser.ts";
import { parseBytes, parseDuration, parseFieldMask, parseTimestamp } from "./text-forms.ts";

/** Reads one value. */
export interface Leaf {
  /** What a value must be, to follow "must be": `a string`. */
  readonly expects: string;
  /** The value in its local form; undefined when the JSON is not acceptable. */
  read(json: JsonNode): unknown;
}

/**
 * The reader for one value of the field: a singular value, a list item or a map value. Undefined for fields whose
 * value is not a single JSON scalar.
 */
export function leafOf(field: DescField): Leaf | undefined {
  if (field.enum !== undefined) return enumLeaf(field.enum);
  if (field.message === undefined)
    return scalarLeaf(field.scalar, field.fieldKind !== "map" && field.longAsString, fieldLimits(field).least);
  const leaf = wellKnownLeaf(field.message);
  const wrapped = isUnwrapped(field) ? wrapperValue(field.message) : undefined;
  return wrapped === undefined ? leaf : scalarLeaf(wrapped.scalar, wrapped.longAsString);
}

/** The reader for a well-known message with a text or bare form. It returns the message. */
export function wellKnownLeaf(desc: DescMessage): Leaf | undefined {
  const wrapped = wrapperValue(desc);
  if (wrapped !== undefined) {
    const value = scalarLeaf(wrapped.scalar, wrapped.longAsString);
    return messageLeaf(desc, value.expects, (json) => {
      const read = value.read(json);
      return read === undefined ? undefined : { [wrapped.localName]: read };
    });
  }
  switch (desc.typeName) {
    case "google.protobuf.Timestamp":
      return messageLeaf(desc, "an RFC 3339 timestamp", ofText(parseTimestamp));
    case "google.protobuf.Duration":
      return messageLeaf(desc, 'a duration in seconds, such as "1.5s"', ofText(parseDuration));
    case "google.protobuf.FieldMask":
      return messageLeaf(
        desc,
        "at most 1000 comma-separated field paths",
        ofText((text) => {
          const paths = parseFieldMask(text);
          return paths === undefined ? undefined : { paths };
        }),
      );
    default:
      return undefined;
  }
}

/**
 * The reader for a scalar type. `longAsString` fields hold 64-bit integers as strings. `least` replaces the least value
 * of the type in the text of violations.
 */
export function scalarLeaf(type: ScalarType, longAsString = false, least?: bigint): Leaf {
  const leaf = leafOfType(type, longAsString);
  return least === undefined
    ? leaf
    : { ...leaf, expects: leaf.expects.replace(/(?<=^an integer from )-?\d+/, `${least}`) };
}

function leafOfType(type: ScalarType, longAsString: boolean): Leaf {
  switch (type) {
    case ScalarType.STRING:
      return { expects: "a string", read: (json) => (typeof json === "string" ? json : undefined) };
    case ScalarType.BOOL:
      return { expects: "true or false", read: (json) => (typeof json === "boolean" ? json : undefined) };
    case ScalarType.BYTES:
      return { expects: "base64", read: ofText(parseBytes) };
    case ScalarType.DOUBLE:
      return { expects: "a number", read: readDouble };
    case ScalarType.FLOAT:
      return { expects: "a number of single precision", read: readFloat };
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return integerLeaf(-(2n ** 31n), 2n ** 31n - 1n, Number);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return integerLeaf(0n, 2n ** 32n - 1n, Number);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return integerLeaf(-(2n ** 63n), 2n ** 63n - 1n, longIn(longAsString));
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return integerLeaf(0n, 2n ** 64n - 1n, longIn(longAsString));
  }
}

function longIn(asString: boolean): (value: number | bigint) => string | bigint {
  return (value) => (asString ? String(value) : BigInt(value));
}

const furtherNames = new WeakMap<DescEnum, ReadonlyMap<string, number>>();

/** Adds names for the values of an enum in JSON and in URLs. To be called before a reader for the enum is created. */
export function addEnumNames(desc: DescEnum, names: ReadonlyMap<string, number>): void {
  furtherNames.set(desc, names);
}

function enumLeaf(desc: DescEnum): Leaf {
  const numbers = new Map<string, number>(furtherNames.get(desc));
  for (const value of desc.values) {
    numbers.set(value.jsonName, value.number);
    numbers.set(value.name, value.number);
  }
  const known = new Set(numbers.values());
  const int32 = scalarLeaf(ScalarType.INT32);
  const isNullValue = desc.typeName === "google.protobuf.NullValue";
  return {
    expects: `one of ${listedValues(desc.values.map(({ name }) => name))}`,
    read(json) {
      if (typeof json === "string") return numbers.get(json);
      if (json === null) return isNullValue ? 0 : undefined;
      const number = int32.read(json) as number | undefined;
      return number !== undefined && (desc.open || known.has(number)) ? number : undefined;
    },
  };
}

function messageLeaf(desc: DescMessage, expects: string, read: (json: JsonNode) => object | undefined): Leaf {
  return {
    expects,
    read(json) {
      const fields = read(json);
      return fields === undefined ? undefined : Object.assign(newMessage(desc), fields);
    },
  };
}

function ofText<T>(parse: (text: string) => T | undefined): (json: JsonNode) => T | undefined {
  return (json) => (typeof json === "string" ? parse(json) : undefined);
}

function integerLeaf<T>(min: bigint, max: bigint, convert: (value: number | bigint) => T): Leaf {
  return {
    expects: `an integer from ${min} to ${max}`,
    read(json) {
      const value = exactInteger(json);
      return value !== undefined && value >= min && value <= max ? convert(value) : undefined;
    },
  };
}

const numberPattern = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The integer that a number, or a string with a number, denotes exactly, up to 64 bits: `1`, `1.0`, `"1e3"`. */
function exactInteger(json: JsonNode): number | bigint | undefined {
  if (typeof json === "number") return Number.isInteger(json) ? json + 0 : undefined;
  const match = numberPattern.exec(json instanceof JsonNumber ? json.text : typeof json === "string" ? json : "");
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = whole + fraction;
  let end = digits.length;
  while (end > 0 && digits[end - 1] === "0") end--;
  let start = 0;
  while (start < end && digits[start] === "0") start++;
  if (start === end) return 0;
  const zeros = Number(exponent) - fraction.length + digits.length - end;
  if (zeros < 0 || end - start + zeros > 20) return undefined;
  return BigInt(sign + digits.slice(start, end) + "0".repeat(zeros));
}

const specialNumbers = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

function readDouble(json: JsonNode): number | undefined {
  if (typeof json === "number") return json;
  if (typeof json === "string")
    return specialNumbers.get(json) ?? (numberPattern.test(json) ? finite(Number(json)) : undefined);
  return json instanceof JsonNumber ? finite(Number(json.text)) : undefined;
}

function readFloat(json: JsonNode): number | undefined {
  const value = readDouble(json);
  const fits = value === undefined || Number.isFinite(Math.fround(value)) || specialNumbers.has(String(json));
  return fits ? value : undefined;
}

function finite(value: number): number | undefined {
  return Number.isFinite(value) ? value : undefined;
}
