/**
 * Field values given as text in a URL. Integers are plain decimal, booleans `true`, `false`, `1`, `0`, enums a name or
 * a known number; other types are as ProtoJSON writes them, without quotation marks.
 */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { type Leaf, leafOf, wrapperValue } from "../../codec/index.ts";

/** Reads one value of a field. */
interface TextReader {
  /** What a value must be, to follow "must be". */
  readonly expects: string;
  /** The value in its local form; undefined when the text is not acceptable. */
  read(text: string): unknown;
}

const readers = new WeakMap<DescField, TextReader>();

/** The reader for one value of the field: singular, list item or map value. Undefined when text cannot express it. */
export function textReaderOf(field: DescField): TextReader | undefined {
  let reader = readers.get(field);
  if (reader === undefined) {
    const leaf = leafOf(field);
    if (leaf === undefined) return undefined;
    reader = { expects: leaf.expects, read: read(field, leaf) };
    readers.set(field, reader);
  }
  return reader;
}

const decimalPattern = /^-?(?:0|[1-9]\d*)$/;

function read(field: DescField, leaf: Leaf): (text: string) => unknown {
  if (field.enum !== undefined) {
    const { value } = field.enum;
    return (text) => {
      if (!decimalPattern.test(text)) return leaf.read(text);
      return value[Number(text)] === undefined ? undefined : leaf.read(Number(text));
    };
  }
  switch (field.message === undefined ? field.scalar : wrapperValue(field.message)?.scalar) {
    case ScalarType.BOOL:
      return (text) => leaf.read(booleans.get(text) ?? null);
    case ScalarType.STRING:
    case ScalarType.BYTES:
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
    case undefined:
      return (text) => leaf.read(text);
    default:
      return (text) => (decimalPattern.test(text) ? leaf.read(text) : undefined);
  }
}

const booleans = new Map([
  ["true", true],
  ["1", true],
  ["false", false],
  ["0", false],
]);
