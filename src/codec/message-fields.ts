/**
 * How protobuf-es holds field values in a message object: members of a oneof sit under the oneof's name, a singular
 * wrapper outside a oneof is its bare value, a Struct is a plain JSON object.
 */
import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";

/** The properties of a message object, by local name. */
export type Local = Record<string, unknown>;

/** A oneof in a message object. */
export interface LocalOneof {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/** A message whose fields are read and written by their local names. */
export type LocalMessage = Message & Local;

/** A message by its local names. */
export function localOf(message: Message): LocalMessage {
  return message as LocalMessage;
}

/** A new message in which no field is set. */
export function newMessage(desc: DescMessage): LocalMessage {
  return localOf(create(desc));
}

/** Sets a field to a value in its local form. A member of a oneof replaces the member that was set. */
export function setField(message: Message | Local, field: DescField, value: unknown): void {
  const local = message as Local;
  if (field.oneof !== undefined) local[field.oneof.localName] = { case: field.localName, value };
  else local[field.localName] = value;
}

/** The local value of a field; undefined when it is unset and has presence. */
export function getField(message: Message | Local, field: DescField): unknown {
  const local = message as Local;
  if (field.oneof !== undefined) {
    const oneof = local[field.oneof.localName] as LocalOneof;
    return oneof.case === field.localName ? oneof.value : undefined;
  }
  return Object.hasOwn(local, field.localName) ? local[field.localName] : undefined;
}

/** The items of a repeated field, to be added to. */
export function getList(message: Message | Local, { localName }: DescField): unknown[] {
  const { [localName]: items } = message as Readonly<Record<string, unknown[]>>;
  return items!;
}

/** Whether a field may be unset, which is not the same as holding its zero value. */
export function hasPresence(field: DescField): boolean {
  return (
    field.fieldKind !== "list" && field.fieldKind !== "map" && field.presence !== FeatureSet_FieldPresence.IMPLICIT
  );
}

/** Sets a property as an own one, `__proto__` too. */
export function setOwn(target: Local, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  else target[key] = value;
}

const wrapperTypes = new Set(
  ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"].map(
    (name) => `google.protobuf.${name}Value`,
  ),
);

/** The `value` field of a wrapper (google/protobuf/wrappers.proto); undefined for every other message. */
export function wrapperValue(desc: DescMessage): (DescField & { fieldKind: "scalar" }) | undefined {
  const value = desc.fields[0];
  return wrapperTypes.has(desc.typeName) && value?.fieldKind === "scalar" ? value : undefined;
}

/** Whether a field of this wrapper type holds the bare value and not the wrapper message. */
export function isUnwrapped(field: DescField): boolean {
  return field.fieldKind === "message" && field.oneof === undefined && wrapperValue(field.message) !== undefined;
}

/** Whether the values of a field are Structs that are held as plain JSON objects. */
export function isBareStruct(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
}

const customJsonTypes = new Set(
  ["Any", "Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue"].map(
    (name) => `google.protobuf.${name}`,
  ),
);

/** Whether the JSON form of this message is not an object of its fields. */
export function hasCustomJson(desc: DescMessage): boolean {
  return customJsonTypes.has(desc.typeName) || wrapperValue(desc) !== undefined;
}
