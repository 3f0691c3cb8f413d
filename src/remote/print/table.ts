/** Messages as a table: a line each, in columns whose widths the first messages decide. */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { isUid } from "../../uid.ts";
import { kebab } from "../catalog/resources.ts";
import { cellOf, hasFields, messagesIn } from "./cells.ts";
import { type Column, columnsOf, hasShortForm, type Names } from "./columns.ts";
import { colouredLevels, isLevel } from "./levels.ts";
import { pad, padOrCut, padOrCutStart, widthOf, wrap } from "./text.ts";
import { viewOf } from "./views.ts";

/** Where a table is printed. */
export interface TableStyle {
  /** Columns of the terminal; undefined where lines may have any length, as in a file. */
  readonly width: number | undefined;
  readonly colours: boolean;
  /** All fields instead of the most telling. */
  readonly wide: boolean;
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

  /**
   * @param names of resources that the messages refer to, which are printed in the place of their uids.
   * @param columns the most telling, or all, unless given.
   */
  constructor(schema: DescMessage, style: TableStyle, names: Names = new Map(), columns?: readonly Column[]) {
    this.#style = style;
    this.#columns = columns ?? (style.wide ? undefined : viewOf(schema)) ?? columnsOf(schema, style.wide);
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
    const line = this.#join(rows[0]!, false);
    return this.#style.colours ? `\u001b[1m${line}\u001b[22m` : line;
  }

  /** The line of a message. */
  line(message: Message): string {
    return this.#join(this.#cells(message));
  }

  #cells(message: Message): string[] {
    const style = { isBrief: this.#style.width !== undefined };
    return this.#columns.map((column) => column.cell(message, style, this.#names));
  }

  #join(cells: readonly string[], colours = this.#style.colours): string {
    const isCut = this.#style.width !== undefined && !this.#style.wide;
    return cells
      .flatMap((cell, i) => {
        const width = this.#widths[i]!;
        const { hasLevels, differsAtEnd } = this.#columns[i]!;
        if (width === 0) return [];
        const cut = differsAtEnd || isUid(cell) ? padOrCutStart : padOrCut; // uids differ at their ends
        const text = isCut ? cut(cell || "-", width) : pad(cell || "-", width);
        return hasLevels && colours ? colouredLevels(text) : text;
      })
      .join(gap)
      .trimEnd();
  }
}

/**
 * The fields of one resource, a line each; on a terminal, long ones are wrapped. Below them a table of each list of
 * messages that have no messages in them.
 */
export function fieldLines(schema: DescMessage, message: Message, style: TableStyle): string[] {
  const { colours, width: total } = style;
  const shown = fieldsOf(schema, message).filter(({ text }) => text !== "");
  const width = Math.max(0, ...shown.map(({ name }) => name.length));
  const indent = width + gap.length;
  const bold = (text: string) => (colours ? `\u001b[1m${text}\u001b[22m` : text);
  const lines = shown.flatMap(({ name, text, hasLevels }) => {
    const [first, ...others] = total === undefined ? [text] : wrap(text, Math.max(minTextWidth, total - indent));
    const value = hasLevels && colours ? colouredLevels(first!) : first;
    return [`${bold(name.padEnd(width))}${gap}${value}`, ...others.map((line) => " ".repeat(indent) + line)];
  });
  return [...lines, ...schema.fields.flatMap((field) => listLines(field, message, style))];
}

/** The table of a field that is a list of flat messages. */
function listLines(field: DescField, message: Message, style: TableStyle): string[] {
  const items = isFlatList(field) ? messagesIn(field, message) : [];
  if (items.length === 0) return [];
  const width = style.width === undefined ? undefined : style.width - gap.length;
  const columns = style.wide ? undefined : (viewOf(field.message!) ?? columnsOf(field.message!, true));
  const table = new Table(field.message!, { ...style, width }, undefined, columns);
  const lines = [table.begin(items), ...items.map((item) => table.line(item))];
  return ["", `${kebab(field.name)}:`, ...lines.map((line) => `${gap}${line}`)];
}

/** Whether a field is a list of messages without messages in them, and without a name by which they are printed. */
function isFlatList(field: DescField): boolean {
  return (
    field.fieldKind === "list" &&
    hasFields(field) &&
    !hasShortForm(field) &&
    field.message!.fields.every((inner) => inner.fieldKind !== "map" && !hasFields(inner))
  );
}

/** A line of one resource. */
interface FieldLine {
  readonly name: string;
  readonly text: string;
  readonly hasLevels: boolean;
}

/** The fields of a message and, with dots, of the messages in it. What is there in brief is on one line. */
function fieldsOf(schema: DescMessage, message: Message): FieldLine[] {
  return schema.fields.flatMap((field) => {
    const name = kebab(field.name);
    const inner = messagesIn(field, message);
    if (isFlatList(field)) return [];
    if (inner.length === 0 || hasShortForm(field))
      return [{ name, text: cellOf(field, message, { isBrief: false }), hasLevels: isLevel(field) }];
    return inner.flatMap((each, index) =>
      fieldsOf(field.message!, each).map((below) => ({
        ...below,
        name: `${name}${field.fieldKind === "list" ? `[${index}]` : ""}.${below.name}`,
      })),
    );
  });
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
    const leastOf = (i: number) => Math.max(least, columns[i]!.leastWidth ?? 0);
    while (used() > total) {
      const cuttable = meant.filter((i) => widths[i]! > leastOf(i));
      if (cuttable.length === 0) return;
      const longest = cuttable.reduce((a, b) => (widths[b]! > widths[a]! ? b : a));
      widths[longest] = Math.max(leastOf(longest), widths[longest]! - (used() - total));
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
