/**
 * codec: messages to JSON text and to the wire format, and back, compiled once per message descriptor, when it is first
 * needed. What walks over the fields of a message is generated source (specialise.ts).
 *
 * The wire format (https://protobuf.dev/programming-guides/encoding) is the library's, byte for byte, and what it
 * refuses is refused; held to it on 100,000 messages and their damaged bytes by a test.
 *
 * JSON is ProtoJSON (https://protobuf.dev/programming-guides/json) over RFC 8259. It differs on purpose in these points.
 * - Written: fields without presence always appear, zero or not (as the library's `alwaysEmitImplicit`); timestamps
 *   carry exactly three fractional digits, cut off.
 * - Read: keys by lowerCamelCase or proto name, field mask paths likewise. Duplicate keys in any spelling, two members
 *   of a oneof, NUL, lone surrogates, malformed UTF-8 and nesting deeper than 100 are refused; integers are exact
 *   or refused, never rounded; dates must exist; unknown enum names are refused even where unknown fields are ignored.
 * - Extensions are unknown fields. Only `google.protobuf.Any` looks beyond the descriptor, into the registry.
 *
 * Reading JSON has two steps: `parseJson` gives a tree and knows no types; a reader turns the tree into a message and notes
 * every violation with its field path. The tree also tells which fields were spoken of (`fieldPathsOf`), which is
 * what a partial update needs and a message cannot say.
 *
 * Promises: linear time, bounded recursion in reading, no reflection after compilation; `__proto__` is a key like any other.
 */
export { type BinaryReader, createBinaryReader } from "./binary-reader.ts";
export { type BinaryWriter, createBinaryWriter } from "./binary-writer.ts";
export {
  type EncodedListMaker,
  type EncodedType,
  encodedListMaker,
  encodedMessageMaker,
  type Place,
  wholeMessage,
} from "./encoded.ts";
export { fieldPathsOf } from "./field-paths.ts";
export { asciiOf, JsonBytes } from "./json-bytes.ts";
export { type JsonMembers, type JsonNode, JsonNumber, JsonSyntaxError, parseJson } from "./json-parser.ts";
export {
  createJsonFieldReader,
  createJsonReader,
  type JsonReader,
  type JsonReaderOptions,
  mapKeyReader,
} from "./json-reader.ts";
export {
  createJsonFieldWriter,
  createJsonWriter,
  type JsonWriter,
  type JsonWriterOptions,
} from "./json-writer.ts";
export { addEnumNames, type Leaf, leafOf } from "./leaf.ts";
export { getField, hasCustomJson, type Local, setField, setOwn, wrapperValue } from "./local.ts";
export { Violations } from "./violations.ts";
export { WireFormatError } from "./wire-reader.ts";
export type { ApartFields } from "./wire-to-json.ts";
