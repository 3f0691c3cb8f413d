/** Messages as a table: a line each, in columns that the descriptor and the first messages decide. */
import { type DescField, type DescMessage, getOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { FieldBehavior, field_behavior } from "../../../gen/google/api/field_behavior_pb.ts";
import { kebab } from "../catalog/resources.ts";
import { cellOf } from "./cells.ts";
import { pad, padOrCut, padOrCutStart, widthOf } from "./text.ts";

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
  /** Uids are told apart by their ends. */
  readonly isUid: boolean;
}

const gap = "  ";
/** Below this a column is left out instead of cut. */
const minWidth = 8;
/** To what the longest columns are cut first. */
const fairWidth = 44;
/** The last segment of a uid, with `…/` before it. */
const uidWidth = 18;

/** The lines of a table, made when its first messages are known. */
export class Table {
  readonly #style: TableStyle;
  readonly #columns: readonly Column[];
  #widths: readonly number[] = [];

  constructor(schema: DescMessage, style: TableStyle) {
    this.#style = style;
    this.#columns = columnsOf(schema, style.wide);
  }

  /** The heading, and the width of each column, from the first messages. */
  begin(messages: readonly Message[]): string {
    const rows = [this.#columns.map(({ heading }) => heading), ...messages.map((message) => this.#cells(message))];
    const isEmpty = (i: number) => messages.length > 0 && rows.slice(1).every((row) => row[i] === "");
    const natural = this.#columns.map((_, i) => (isEmpty(i) ? 0 : Math.max(...rows.map((row) => widthOf(row[i]!)))));
    this.#widths =
      this.#style.width === undefined ? natural : squeeze(this.#columns, natural, this.#style.width, this.#style.wide);
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
        const cut = this.#columns[i]!.isUid ? padOrCutStart : padOrCut;
        return isCut ? cut(cell || "-", width) : pad(cell || "-", width);
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
    .map((field) => ({
      field,
      heading: kebab(field.name).toUpperCase(),
      isUid: /(^|_)uid$/.test(field.name) && field.scalar === ScalarType.STRING,
    }));
}

/**
 * Widths that fit `total`. Columns are cut in turns: what people read, uids of others, the own uid, long names. Then the
 * last columns are left out, and the others get their room. If all fields are wanted, only the longest are cut, and lines may be longer.
 */
function squeeze(columns: readonly Column[], natural: readonly number[], total: number, wide: boolean): number[] {
  const widths = [...natural];
  const used = () => {
    const shown = widths.filter((width) => width > 0);
    return shown.reduce((sum, width) => sum + width, 0) + gap.length * Math.max(0, shown.length - 1);
  };
  const cut = (isMeant: (column: Column) => boolean, least: number) => {
    const meant = columns.flatMap((column, i) => (isMeant(column) ? [i] : []));
    while (used() > total) {
      const longest = meant.reduce((a, b) => (widths[b]! > widths[a]! ? b : a), meant[0] ?? -1);
      if (longest < 0 || widths[longest]! <= least) return;
      widths[longest] = Math.max(least, widths[longest]! - (used() - total));
    }
  };
  const isRead = ({ field, isUid }: Column) => !isUid && !isKey(field);
  cut(isRead, fairWidth);
  if (wide) return widths;
  cut(isRead, fairWidth / 2);
  cut(({ field, isUid }) => isUid && !isKey(field), uidWidth);
  cut(({ isUid }) => isUid, uidWidth);
  cut(({ field }) => field.name === "name", fairWidth);
  cut(isRead, minWidth);
  for (let i = widths.length - 1; i >= 0 && used() > total; i--) if (!isKey(columns[i]!.field)) widths[i] = 0;
  cut(() => true, minWidth);
  for (let i = widths.length - 1; i >= 0; i--)
    if (widths[i]! > 0) widths[i]! += Math.max(0, Math.min(natural[i]! - widths[i]!, total - used()));
  return widths;
}
