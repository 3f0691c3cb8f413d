/**
 * Message fields that protobuf-es does not hold as messages, converted to messages and back: a singular wrapper outside
 * a oneof is its bare value, a Struct is a plain JSON object.
 */
import { create, type DescField, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  type ListValue,
  ListValueSchema,
  type Struct,
  StructSchema,
  type Value,
  ValueSchema,
} from "@bufbuild/protobuf/wkt";
import {
  isBareStruct,
  isUnwrapped,
  type Local,
  type LocalMessage,
  localOf,
  newMessage,
  setOwn,
  wrapperValue,
} from "./message-fields.ts";

/** Converts between a message and the value that is held instead of it. */
interface LocalForm {
  toMessage(local: unknown): LocalMessage;
  toLocal(message: Local): unknown;
}

/**
 * How the values of a message field are held: a singular value, a list item or a map value. Undefined where they are
 * messages.
 */
export function localForm(field: DescField): LocalForm | undefined {
  if (isBareStruct(field)) return structForm;
  if (!isUnwrapped(field) || field.message === undefined) return undefined;
  const wrapper = field.message;
  const name = wrapperValue(wrapper)?.localName as string;
  return {
    toMessage: (local) => Object.assign(newMessage(wrapper), { [name]: local }),
    toLocal: (message) => message[name],
  };
}

const structForm: LocalForm = {
  toMessage: (local) => localOf(structFrom(local as JsonObject)),
  toLocal: (message) => jsonOfStruct(message as Local & Struct),
};

/** The message of a JSON object. */
export function structFrom(json: JsonObject): Struct {
  const struct = create(StructSchema);
  for (const key of Object.keys(json)) setOwn(struct.fields, key, valueFrom(json[key]));
  return struct;
}

/** The message of a JSON array. */
export function listFrom(json: readonly JsonValue[]): ListValue {
  return create(ListValueSchema, { values: json.map(valueFrom) });
}

/** The message of a value of JSON. */
export function valueFrom(json: JsonValue | undefined): Value {
  return create(ValueSchema, { kind: kindFrom(json) });
}

function kindFrom(json: JsonValue | undefined): Value["kind"] {
  switch (typeof json) {
    case "number":
      return { case: "numberValue", value: json };
    case "string":
      return { case: "stringValue", value: json };
    case "boolean":
      return { case: "boolValue", value: json };
    case "undefined":
      return { case: undefined };
    default:
      if (json === null) return { case: "nullValue", value: 0 };
      return Array.isArray(json)
        ? { case: "listValue", value: listFrom(json) }
        : { case: "structValue", value: structFrom(json) };
  }
}

function jsonOfStruct(struct: Struct): JsonObject {
  const json: JsonObject = {};
  for (const key of Object.keys(struct.fields)) setOwn(json, key, jsonOf(struct.fields[key] as Value));
  return json;
}

function jsonOf({ kind }: Value): JsonValue {
  switch (kind.case) {
    case "structValue":
      return jsonOfStruct(kind.value);
    case "listValue":
      return kind.value.values.map(jsonOf);
    case "nullValue":
    case undefined:
      return null;
    default:
      return kind.value;
  }
}
