/**
 * codec: messages to JSON text and to the wire format, and back. Codecs are compiled once per message descriptor, when
 * they are first needed. The loop over the fields of a message is generated code (compile/compile-function.ts), with a
 * plain equivalent for processes that must not generate code.
 *
 * The wire format (https://protobuf.dev/programming-guides/encoding) is that of the protobuf library, byte for byte,
 * and what the library refuses is refused. A test compares both on 100,000 messages and their damaged bytes.
 *
 * JSON is ProtoJSON (https://protobuf.dev/programming-guides/json) over RFC 8259. It differs on purpose in these
 * points:
 * - Written, unless a `JsonFormat` says otherwise: fields without presence always appear, zero or not (as the library's
 *   `alwaysEmitImplicit`); timestamps carry exactly three fractional digits, cut off.
 * - Read: keys by lowerCamelCase or proto name, field mask paths likewise. Duplicate keys in any spelling, two members
 *   of a oneof, NUL, lone surrogates, malformed UTF-8 and nesting deeper than 100 are refused; integers are exact
 *   or refused, never rounded; dates must exist; unknown enum names are refused even where unknown fields are ignored.
 * - Extensions are unknown fields. Only `google.protobuf.Any` looks beyond the descriptor, into the registry.
 *
 * Reading JSON has two steps. `parseJson` returns a tree and knows no types. A reader turns the tree into a message and
 * collects violations with their field paths. The tree also says which fields were present (`fieldPathsOf`), which a
 * partial update needs and a message cannot say.
 *
 * Answers in stored form (stored/) go from the database to the client without being decoded.
 *
 * Guarantees: linear time, bounded recursion in reading, no reflection after compilation; `__proto__` is a key like any
 * other.
 */

export { type BinaryReader, createBinaryReader, maxRequestFields } from "./binary/reader.ts";
export { type BinaryWriter, createBinaryWriter } from "./binary/writer.ts";
export { useGeneratedCode, zeroMessage } from "./compile/compile-function.ts";
export { type FieldLimits, limitSource, useFieldLimits } from "./json/field-limits.ts";
export { fieldPathsOf } from "./json/field-paths.ts";
export { fieldName, type JsonFormat, storedFormat } from "./json/format.ts";
export { memberCount, parseUnambiguous, repeatedMember } from "./json/members.ts";
export { type JsonNode, JsonNumber, JsonSyntaxError, parseJson } from "./json/parser.ts";
export { createJsonFieldReader, createJsonReader, mapKeyReader } from "./json/reader.ts";
export { addEnumNames, type Leaf, leafOf } from "./json/scalar-reader.ts";
export { snakeCase } from "./json/text-forms.ts";
export { Violations } from "./json/violations.ts";
export { createJsonFieldWriter, createJsonWriter } from "./json/writer.ts";
export {
  getField,
  getList,
  hasCustomJson,
  hasPresence,
  type Local,
  type LocalMessage,
  localOf,
  newMessage,
  setField,
  setOwn,
  wrapperValue,
} from "./message-fields.ts";
export { MessageParts } from "./message-parts.ts";
export { asciiOf, JsonBytes } from "./stored/json-buffer.ts";
export {
  type ByteRange,
  isStored,
  type StoredListMaker,
  type StoredMessage,
  type StoredMessageMaker,
  type StoredType,
  storedListMaker,
  storedMessageMaker,
  wholeMessage,
} from "./stored/stored-message.ts";
export type { SuppliedFields } from "./stored/wire-to-json.ts";
export { localForm } from "./unwrapped-forms.ts";
export { WireFormatError } from "./wire/reader.ts";
