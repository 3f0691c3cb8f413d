/** Messages as a table: a line each, in columns that the descriptor and the first messages decide. */
import { type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { kebab } from "../catalog/resources.ts";
import { cellOf } from "./cells.ts";
import { pad, padOrCut, widthOf } from "./text.ts";

/** Where a table is printed. */
export interface TableStyle {
  /** Columns of the terminal; undefined where lines may have any length, as in a file. */
  readonly width: number | undefined;
  readonly colours: boolean;
  /** All fields instead of the most telling. */
  readonly wide: boolean;
}

interface Column {
  readonly field: DescField;
  readonly heading: string;
}

const gap = "  ";
/** Below this a column is left out instead of cut. */
const minWidth = 8;
/** To what the longest columns are cut first. */
const fairWidth = 44;

/** The lines of a table, made when its first messages are known. */
export class Table {
  readonly #style: TableStyle;
  readonly #columns: readonly Column[];
  /** How many of the first columns are name and uid. */
  readonly #keys: number;
  #widths: readonly number[] = [];

  constructor(schema: DescMessage, style: TableStyle) {
    this.#style = style;
    this.#columns = columnsOf(schema, style.wide);
    this.#keys = this.#columns.filter(({ field }) => isKey(field)).length;
  }

  /** The heading, and the width of each column, from the first messages. */
  begin(messages: readonly Message[]): string {
    const rows = [this.#columns.map(({ heading }) => heading), ...messages.map((message) => this.#cells(message))];
    const isEmpty = (i: number) => messages.length > 0 && rows.slice(1).every((row) => row[i] === "");
    const natural = this.#columns.map((_, i) => (isEmpty(i) ? 0 : Math.max(...rows.map((row) => widthOf(row[i]!)))));
    this.#widths = this.#style.width === undefined ? natural : squeeze(natural, this.#style.width, this.#keys);
    const line = this.#join(rows[0]!);
    return this.#style.colours ? `\u001b[1m${line}\u001b[22m` : line;
  }

  /** The line of a message. */
  line(message: Message): string {
    return this.#join(this.#cells(message));
  }

  #cells(message: Message): string[] {
    return this.#columns.map(({ field }) => cellOf(field, message, { relativeTimes: this.#style.width !== undefined }));
  }

  #join(cells: readonly string[]): string {
    const isCut = this.#style.width !== undefined;
    return cells
      .flatMap((cell, i) => {
        const width = this.#widths[i]!;
        if (width === 0) return [];
        return isCut ? padOrCut(cell || "-", width) : pad(cell || "-", width);
      })
      .join(gap)
      .trimEnd();
  }
}

/** The fields of one resource, a line each. */
export function fieldLines(schema: DescMessage, message: Message, { colours }: TableStyle): string[] {
  const cells = schema.fields.map((field) => [kebab(field.name), cellOf(field, message, { relativeTimes: false })]);
  const shown = cells.filter(([, text]) => text !== "");
  const width = Math.max(0, ...shown.map(([name]) => name!.length));
  return shown.map(([name, text]) => {
    const label = name!.padEnd(width);
    return `${colours ? `\u001b[1m${label}\u001b[22m` : label}${gap}${text}`;
  });
}

function isKey({ name }: DescField): boolean {
  return name === "name" || name === "uid";
}

/** Name and uid first, times last. */
function columnsOf(schema: DescMessage, wide: boolean): Column[] {
  const isTime = ({ message }: DescField) => message?.typeName === TimestampSchema.typeName;
  const rank = (field: DescField) => (field.name === "name" ? 0 : field.name === "uid" ? 1 : isTime(field) ? 3 : 2);
  const isTelling = (field: DescField) =>
    isKey(field) ||
    field.name === "create_time" ||
    ((field.fieldKind === "scalar" || field.fieldKind === "enum") &&
      field.scalar !== ScalarType.BYTES &&
      field.name !== "etag" &&
      !getOption(field, field_behavior).includes(FieldBehavior.INPUT_ONLY));
  return schema.fields
    .filter((field) => wide || isTelling(field))
    .sort((a, b) => rank(a) - rank(b))
    .map((field) => ({ field, heading: kebab(field.name).toUpperCase() }));
}

/** Widths that fit `total`: what people read is cut before names and uids, then the last columns are left out. */
function squeeze(natural: readonly number[], total: number, keys: number): number[] {
  const widths = [...natural];
  const used = () => {
    const shown = widths.filter((width) => width > 0);
    return shown.reduce((sum, width) => sum + width, 0) + gap.length * Math.max(0, shown.length - 1);
  };
  const cut = (from: number, least: number) => {
    while (used() > total) {
      const longest = widths.indexOf(Math.max(...widths.slice(from)), from);
      if (longest < 0 || widths[longest]! <= least) return;
      widths[longest] = Math.max(least, widths[longest]! - (used() - total));
    }
  };
  for (const least of [fairWidth, fairWidth / 2, minWidth]) cut(keys, least);
  for (let i = widths.length - 1; i >= keys && used() > total; i--) widths[i] = 0;
  cut(0, minWidth);
  return widths;
}
