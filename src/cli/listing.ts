/** Listings on standard output: a line for each record, in columns or as JSON, written no faster than somebody reads them. */
import { once } from "node:events";
import { CommandFailure } from "./failure.ts";

/** How records are shown. */
export interface Listing<T> {
  /** Heading and width of each column; a cell that is longer is as long as it is. */
  readonly columns: readonly (readonly [heading: string, width: number])[];
  /** The cells of a record, one for each column; an empty one is shown as `-`. */
  cells(record: T): readonly string[];
  /** What JSON has of a record; all of it unless told. */
  json?(record: T): object;
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Prints records as they come, until they end or whoever reads has gone, as `head` does. */
export async function printListing<T>(
  records: AsyncIterable<T> | Iterable<T>,
  { columns, cells, json = (record) => record as object }: Listing<T>,
  asJson: boolean,
): Promise<void> {
  const line = (texts: readonly string[]) =>
    texts
      .map((text, i) => (text || "-").padEnd(columns[i]![1]))
      .join("  ")
      .trimEnd();
  process.stdout.on("error", () => {});
  if (!asJson) await print(line(columns.map(([heading]) => heading)));
  for await (const record of records) {
    if (!process.stdout.writable) return;
    await print(asJson ? JSON.stringify(json(record)) : line(cells(record)));
  }
}

async function print(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, "drain");
}

/**
 * The time that `--since` names, in milliseconds since 1970: so long ago (`90s`, `15m`, `1h`, `7d`), or an RFC 3339 time.
 * Errors: CommandFailure.
 */
export function parseSince(text: string): number {
  const [, amount, unit = ""] = /^([1-9][0-9]{0,6})([smhd])$/.exec(text) ?? [];
  const isDate = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text);
  const timeMs = isDate ? Date.parse(text) : Date.now() - Number(amount) * (unitMs[unit] ?? Number.NaN);
  if (Number.isNaN(timeMs))
    throw new CommandFailure(
      `--since must be like 90s, 15m, 1h or 7d, or an RFC 3339 time, not ${JSON.stringify(text)}`,
    );
  return timeMs;
}
