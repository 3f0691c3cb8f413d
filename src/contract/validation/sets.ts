/** Repeated fields that are sets, marked with `(platform.annotations.is_set)`. */
import { type DescField, type DescMessage, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { is_set } from "../../../gen/platform/annotations/annotations_pb.ts";
import { getOption } from "../../annotations.ts";
import { getField, type Local } from "../../codec/index.ts";

/** Changes a message in place. */
type Change = (message: unknown) => void;

const changes = new WeakMap<DescMessage, Change | undefined>();

/** Removes repeated values from every set of a message, at every depth, in place. The first of equal values stays. */
export function keepDistinct<D extends DescMessage>(schema: D, message: MessageShape<D>): void {
  changeOf(schema)?.(message);
}

/** The changes for a message type, made once; undefined when it has no set. */
function changeOf(schema: DescMessage): Change | undefined {
  if (!changes.has(schema)) {
    changes.set(schema, (message) => changeOf(schema)?.(message)); // for a recursive type
    const ofFields = schema.fields.flatMap((field) => changeOfField(field) ?? []);
    const ofAll: Change = (message) => {
      for (const change of ofFields) change(message);
    };
    changes.set(schema, ofFields.length === 0 ? undefined : ofAll);
  }
  return changes.get(schema);
}

function changeOfField(field: DescField): Change | undefined {
  if (field.fieldKind === "list" && getOption(field, is_set)) return (message) => dropRepeated(field, message);
  const inner = field.message && changeOf(field.message);
  if (inner === undefined) return undefined;
  return (message) => {
    const value = getField(message as Local, field);
    if (value === undefined) return;
    if (field.fieldKind === "message") inner(value);
    else for (const item of Object.values(value as object)) inner(item); // of a list or a map
  };
}

function dropRepeated(field: DescField & { fieldKind: "list" }, message: unknown): void {
  const fields = message as Record<string, readonly unknown[]>;
  const values = fields[field.localName]!;
  if (values.length < 2) return;
  const schema = field.message;
  const keyOf = (value: unknown) =>
    schema === undefined ? value : Buffer.from(toBinary(schema, value as Message)).toString("latin1");
  const seen = new Set<unknown>();
  fields[field.localName] = values.filter((value) => seen.size < seen.add(keyOf(value)).size);
}
