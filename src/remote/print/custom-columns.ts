/** Tables of columns that the caller chooses: `NAME:.name,ISSUER:.claimMatch.issuer`. */
import type { JsonValue } from "@bufbuild/protobuf";
import { CommandFailure } from "../../command/index.ts";
import { type JsonPath, parsePath, textOfValue } from "./json-path.ts";
import { pad, widthOf } from "./text.ts";

interface Column {
  readonly heading: string;
  readonly path: JsonPath;
}

/** What a column has for a resource without the field. */
const nothing = "<none>";
const gap = "   ";

/** Parses columns. Errors: CommandFailure. */
export function parseColumns(source: string): readonly Column[] {
  return source.split(/,(?=[^,:[\]]+:)/).map((text) => {
    const at = text.indexOf(":");
    if (at <= 0 || at === text.length - 1)
      throw new CommandFailure(`custom-columns must be like NAME:.name,UID:.uid, not ${JSON.stringify(text)}`, 2);
    return { heading: text.slice(0, at), path: parsePath(text.slice(at + 1)) };
  });
}

/** The lines of a table, made when its first values are known. */
export class CustomColumns {
  readonly #columns: readonly Column[];
  #widths: readonly number[] = [];

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  /** The heading, and the width of each column, from the first values. */
  begin(values: readonly JsonValue[]): string {
    const headings = this.#columns.map(({ heading }) => heading);
    const rows = [headings, ...values.map((value) => this.#cells(value))];
    this.#widths = headings.map((_, i) => Math.max(...rows.map((row) => widthOf(row[i]!))));
    return this.#join(headings);
  }

  /** The line of a value. */
  line(value: JsonValue): string {
    return this.#join(this.#cells(value));
  }

  #cells(value: JsonValue): string[] {
    return this.#columns.map(({ path }) => path(value, value).map(textOfValue).join(",") || nothing);
  }

  #join(cells: readonly string[]): string {
    return cells
      .map((cell, i) => pad(cell, this.#widths[i]!))
      .join(gap)
      .trimEnd();
  }
}
