/** The columns of a table, by the descriptor of its messages. */
import { type DescField, type DescMessage, hasOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { kebab } from "../catalog/resources.ts";
import { type CellStyle, cellOf, hasFields, messagesIn } from "./cells.ts";
import { isLevel } from "./levels.ts";
import { isSecret } from "./secrets.ts";

/** The names of resources by their uids. */
export type Names = ReadonlyMap<string, string>;

/** A column of a table. */
export interface Column {
  readonly heading: string;
  readonly kind: "name" | "uid" | "reference" | "text" | "time";
  /** To which width a column of texts is cut at most, in place of 12. */
  readonly leastWidth?: number;
  /** Whether its cells are cut at their beginning. */
  readonly differsAtEnd?: boolean;
  /** Whether its cells have levels of severity. */
  readonly hasLevels?: boolean;
  /** The cell of a message; "" for no value. */
  cell(message: Message, style: CellStyle, names: Names): string;
}

/** The columns of a table of messages: name and uid first, times last. @param wide for all fields. */
export function columnsOf(schema: DescMessage, wide: boolean): readonly Column[] {
  const order = ["name", "uid", "reference", "text", "time"];
  return columnsIn(schema, wide, []).sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** Whether a message is printed by its name: it is a resource, or one in brief. */
export function hasShortForm({ message }: DescField): boolean {
  return message?.field.name !== undefined && message.field.uid !== undefined;
}

/** The columns of a message and, if it is wide, of the messages in it. */
function columnsIn(schema: DescMessage, wide: boolean, above: readonly DescField[]): Column[] {
  const isBrief = (field: DescField | undefined) => field?.fieldKind === "message" && hasShortForm(field);
  return schema.fields
    .filter((field) => !isSecret(field) && (wide ? hasCell(field) : isTelling(field) || isBrief(field)))
    .filter(({ name }) => wide || !isBrief(schema.fields.find((other) => `${other.name}_uid` === name)))
    .flatMap((field): Column[] => {
      if (wide && field.fieldKind === "message" && hasFields(field) && !isBrief(field))
        return columnsIn(field.message, wide, [...above, field]);
      const uidField =
        !wide && isBrief(field) ? schema.fields.find(({ name }) => name === `${field.name}_uid`) : undefined;
      const kind = isBrief(field) ? "reference" : above.length > 0 ? "text" : kindOf(field);
      const name = !wide && kind === "reference" ? field.name.replace(/_uid$/, "") : field.name;
      const heading = [...above.map((outer) => outer.name), name].map(kebab).join(".").toUpperCase();
      return [{ heading, kind, hasLevels: isLevel(field), cell: cellsOf({ above, field, uidField, kind }) }];
    });
}

/**
 * The cells of a field.
 * @param above the fields from the message down to that of the field. @param uidField the uid of the resource that
 * `field` has in brief.
 */
function cellsOf({
  above,
  field,
  uidField,
  kind,
}: {
  readonly above: readonly DescField[];
  readonly field: DescField;
  readonly uidField: DescField | undefined;
  readonly kind: Column["kind"];
}): Column["cell"] {
  return (message, style, names) => {
    const holder = above.reduce<Message | undefined>((it, outer) => it && messagesIn(outer, it)[0], message);
    const cell = (shown: DescField | undefined) =>
      shown === undefined || holder === undefined ? "" : cellOf(shown, holder, style);
    const text = cell(field) || cell(uidField);
    return kind === "reference" ? (names.get(text) ?? text) : text;
  };
}

/** Whether there is a short text for the values of a field, or for those of the fields in it. */
function hasCell(field: DescField): boolean {
  return field.fieldKind !== "list" || !hasFields(field) || hasShortForm(field);
}

/** Whether a field is in a table that has not all of them. */
function isTelling(field: DescField): boolean {
  if (field.name === "create_time") return true;
  if (field.fieldKind !== "scalar" && field.fieldKind !== "enum") return false;
  const isInput = getOption(field, field_behavior).includes(FieldBehavior.INPUT_ONLY);
  return field.scalar !== ScalarType.BYTES && field.name !== "etag" && !isInput;
}

function kindOf(field: DescField): Column["kind"] {
  if (field.name === "name" || field.name === "uid") return field.name;
  if (field.name === "id") return "uid"; // of older versions
  if (field.message?.typeName === TimestampSchema.typeName) return "time";
  return field.scalar === ScalarType.STRING && hasOption(field, resource_reference) ? "reference" : "text";
}
