/** Listings on standard output: one line for each record, in columns or as JSON, with back-pressure. */
import { once } from "node:events";
import { CommandFailure } from "../command/index.ts";
import { printable, printableJson } from "../log-text.ts";
import { durationMs } from "./duration.ts";

/** How records are printed. */
export interface Listing<T> {
  /** Heading, minimum width and text of each column. An empty text is printed as `-`. */
  readonly columns: readonly (readonly [heading: string, width: number, text: (record: T) => string])[];
  /** The JSON value of a record; the record itself by default. */
  json?(record: T): object;
}

/** Prints records as they come. */
export async function printListing<T>(
  records: AsyncIterable<T> | Iterable<T>,
  { columns, json = (record) => record as object }: Listing<T>,
  asJson: boolean,
): Promise<void> {
  const line = (texts: readonly string[]) =>
    texts
      .map((text, i) => (printable(text) || "-").padEnd(columns[i]![1]))
      .join("  ")
      .trimEnd();
  if (!asJson) await print(line(columns.map(([heading]) => heading)));
  for await (const record of records) {
    const text = asJson ? printableJson(json(record)) : line(columns.map(([, , textOf]) => textOf(record)));
    await print(text);
  }
}

/** Prints a line for each record as they come, in the same way. */
export async function printText<T>(records: AsyncIterable<T>, textOf: (record: T) => string): Promise<void> {
  for await (const record of records) await print(printable(textOf(record)));
}

async function print(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, "drain");
}

/**
 * Parses the value of `--since` or another option: a duration before now (`90s`, `15m`, `1h`, `7d`), or an RFC 3339
 * time. Returns milliseconds since 1970. Errors: CommandFailure.
 */
export function parseSince(text: string, option = "--since"): number {
  const isDate = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text);
  const timeMs = isDate ? Date.parse(text) : Date.now() - durationMs(text);
  if (Number.isNaN(timeMs))
    throw new CommandFailure(
      `${option} must be like 90s, 15m, 1h or 7d, or an RFC 3339 time, not ${JSON.stringify(text)}`,
    );
  return timeMs;
}
