/** Messages as a table: a line each, in columns that the descriptor and the first messages decide. */
import { type DescField, type DescMessage, hasOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { resource_reference } from "../../../gen/google/api/resource_pb.ts";
import { getOption } from "../../annotations.ts";
import { isUid } from "../../uid.ts";
import { kebab } from "../catalog/resources.ts";
import { cellOf, hasFields, messagesIn } from "./cells.ts";
import { isSecret } from "./secrets.ts";
import { pad, padOrCut, padOrCutStart, widthOf, wrap } from "./text.ts";

/** Where a table is printed. */
export interface TableStyle {
  /** Columns of the terminal; undefined where lines may have any length, as in a file. */
  readonly width: number | undefined;
  readonly colours: boolean;
  /** All fields instead of the most telling. */
  readonly wide: boolean;
}

/** The names of resources by their uids. */
export type Names = ReadonlyMap<string, string>;

interface Column {
  /** The fields from the message down to that of the field. */
  readonly above: readonly DescField[];
  readonly field: DescField;
  /** The uid of the resource that `field` has in brief. */
  readonly uidField?: DescField | undefined;
  readonly heading: string;
  readonly kind: "name" | "uid" | "reference" | "text" | "time";
}

const gap = "  ";
/** Below these a column is left out instead of cut: one that people read, and one that identifies. */
const minTextWidth = 12;
const minKeyWidth = 8;
/** To what the longest columns are cut first. */
const fairWidth = 44;
/** The last segment of a uid, with `…/` before it. */
const uidWidth = 18;

/** The lines of a table, made when its first messages are known. */
export class Table {
  readonly #style: TableStyle;
  readonly #columns: readonly Column[];
  readonly #names: Names;
  #widths: readonly number[] = [];

  /** @param names of resources that the messages refer to, which are printed in the place of their uids. */
  constructor(schema: DescMessage, style: TableStyle, names: Names = new Map()) {
    this.#style = style;
    this.#columns = columnsOf(schema, style.wide);
    this.#names = names;
  }

  /** The heading, and the width of each column, from the first messages. */
  begin(messages: readonly Message[]): string {
    const rows = [this.#columns.map(({ heading }) => heading), ...messages.map((message) => this.#cells(message))];
    const isEmpty = (i: number) => messages.length > 0 && rows.slice(1).every((row) => row[i] === "");
    const natural = this.#columns.map((_, i) => (isEmpty(i) ? 0 : Math.max(...rows.map((row) => widthOf(row[i]!)))));
    this.#widths =
      this.#style.width === undefined || this.#style.wide
        ? natural
        : squeeze(this.#columns, natural, this.#style.width);
    const line = this.#join(rows[0]!);
    return this.#style.colours ? `\u001b[1m${line}\u001b[22m` : line;
  }

  /** The line of a message. */
  line(message: Message): string {
    return this.#join(this.#cells(message));
  }

  #cells(message: Message): string[] {
    const style = { relativeTimes: this.#style.width !== undefined };
    return this.#columns.map(({ above, field, uidField, kind }) => {
      const holder = above.reduce<Message | undefined>((it, outer) => it && messagesIn(outer, it)[0], message);
      const cell = (shown: DescField | undefined) =>
        shown === undefined || holder === undefined ? "" : cellOf(shown, holder, style);
      const text = cell(field) || cell(uidField);
      return kind === "reference" ? (this.#names.get(text) ?? text) : text;
    });
  }

  #join(cells: readonly string[]): string {
    const isCut = this.#style.width !== undefined && !this.#style.wide;
    return cells
      .flatMap((cell, i) => {
        const width = this.#widths[i]!;
        if (width === 0) return [];
        const cut = isUid(cell) ? padOrCutStart : padOrCut; // uids differ at their ends
        return isCut ? cut(cell || "-", width) : pad(cell || "-", width);
      })
      .join(gap)
      .trimEnd();
  }
}

/** The fields of one resource, a line each; on a terminal, long ones are wrapped. */
export function fieldLines(schema: DescMessage, message: Message, { colours, width: total }: TableStyle): string[] {
  const shown = fieldsOf(schema, message).filter(([, text]) => text !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  const indent = width + gap.length;
  return shown.flatMap(([name, text]) => {
    const label = name.padEnd(width);
    const [first, ...others] = total === undefined ? [text] : wrap(text, Math.max(minTextWidth, total - indent));
    return [
      `${colours ? `\u001b[1m${label}\u001b[22m` : label}${gap}${first}`,
      ...others.map((line) => " ".repeat(indent) + line),
    ];
  });
}

/** The fields of a message and, with dots, of the messages in it. What is there in brief is on one line. */
function fieldsOf(schema: DescMessage, message: Message): [name: string, text: string][] {
  return schema.fields.flatMap((field) => {
    const name = kebab(field.name);
    const inner = messagesIn(field, message);
    if (inner.length === 0 || hasShortForm(field)) return [[name, cellOf(field, message, { relativeTimes: false })]];
    return inner.flatMap((each, index) =>
      fieldsOf(field.message!, each).map(([below, text]): [string, string] => [
        `${name}${field.fieldKind === "list" ? `[${index}]` : ""}.${below}`,
        text,
      ]),
    );
  });
}

/** Whether a message is printed by its name: it is a resource, or one in brief. */
function hasShortForm({ message }: DescField): boolean {
  return message?.field.name !== undefined && message.field.uid !== undefined;
}

/** Name and uid first, times last. */
function columnsOf(schema: DescMessage, wide: boolean): Column[] {
  const order = ["name", "uid", "reference", "text", "time"];
  return columnsIn(schema, wide, []).sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

/** The columns of a message and, if it is wide, of the messages in it. */
function columnsIn(schema: DescMessage, wide: boolean, above: readonly DescField[]): Column[] {
  const isBrief = (field: DescField | undefined) => field?.fieldKind === "message" && hasShortForm(field);
  return schema.fields
    .filter((field) => !isSecret(field) && (wide || isTelling(field) || isBrief(field)))
    .filter(({ name }) => wide || !isBrief(schema.fields.find((other) => `${other.name}_uid` === name)))
    .flatMap((field): Column[] => {
      if (wide && field.fieldKind === "message" && hasFields(field) && !isBrief(field))
        return columnsIn(field.message, wide, [...above, field]);
      const uidField =
        !wide && isBrief(field) ? schema.fields.find(({ name }) => name === `${field.name}_uid`) : undefined;
      const kind = isBrief(field) ? "reference" : above.length > 0 ? "text" : kindOf(field);
      const name = !wide && kind === "reference" ? field.name.replace(/_uid$/, "") : field.name;
      const heading = [...above.map((outer) => outer.name), name].map(kebab).join(".").toUpperCase();
      return [{ above, field, uidField, kind, heading }];
    });
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

/**
 * Widths that fit `total`. Columns are cut in turns: long texts, references, the own uid, what people read, long names.
 * Then the last columns are left out, and the others get their room.
 */
function squeeze(columns: readonly Column[], natural: readonly number[], total: number): number[] {
  const widths = [...natural];
  const used = () => {
    const shown = widths.filter((width) => width > 0);
    return shown.reduce((sum, width) => sum + width, 0) + gap.length * Math.max(0, shown.length - 1);
  };
  const cut = (kinds: readonly Column["kind"][], least: number) => {
    const meant = columns.flatMap(({ kind }, i) => (kinds.includes(kind) ? [i] : []));
    while (used() > total) {
      const longest = meant.reduce((a, b) => (widths[b]! > widths[a]! ? b : a), meant[0] ?? -1);
      if (longest < 0 || widths[longest]! <= least) return;
      widths[longest] = Math.max(least, widths[longest]! - (used() - total));
    }
  };
  cut(["text"], fairWidth);
  cut(["reference"], fairWidth);
  cut(["uid"], uidWidth);
  cut(["reference"], uidWidth);
  cut(["text"], fairWidth / 2);
  cut(["name"], fairWidth);
  cut(["text"], minTextWidth);
  for (let i = widths.length - 1; i >= 0 && used() > total; i--)
    if (!["name", "uid"].includes(columns[i]!.kind)) widths[i] = 0;
  cut(["name", "uid"], minKeyWidth);
  for (let i = widths.length - 1; i >= 0; i--)
    if (widths[i]! > 0) widths[i]! += Math.max(0, Math.min(natural[i]! - widths[i]!, total - used()));
  return widths;
}
