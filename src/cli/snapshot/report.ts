/** What exports and imports print: how far they are to standard error, the digests of the tables to standard output. */

import { ProgressLine } from "../../command/index.ts";
import type { SnapshotProgress, TableEnd } from "../../store/index.ts";

/** The report of one run. */
export class SnapshotReport {
  readonly #done: string;
  readonly #startMs = performance.now();
  readonly #line = new ProgressLine();

  /** @param done the verb of the summary of rows. */
  constructor(done: string) {
    this.#done = done;
  }

  /** Prints the progress on a terminal, and elsewhere the tables that are done. */
  progress({ table, rows, sha256 }: SnapshotProgress): void {
    if (!process.stderr.isTTY) {
      if (sha256 !== undefined && rows > 0) process.stderr.write(`${table}: ${rowsText(rows)}\n`);
      return;
    }
    this.#line.show(() => `${table}: ${rowsText(rows)}`);
  }

  end(ends: readonly TableEnd[]): void {
    this.#line.clear();
    const filled = ends.filter(({ rows }) => rows > 0);
    const width = Math.max(...filled.map(({ table }) => table.length));
    let total = 0;
    for (const { table, rows, sha256 } of filled) {
      process.stdout.write(`${table.padEnd(width)}  ${String(rows).padStart(9)}  sha256:${sha256}\n`);
      total += rows;
    }
    const seconds = ((performance.now() - this.#startMs) / 1000).toFixed(1);
    const mib = Math.round(process.resourceUsage().maxRSS / 1024);
    process.stderr.write(`${this.#done} ${rowsText(total)} in ${seconds} s, with at most ${mib} MiB of memory\n`);
  }
}

function rowsText(rows: number): string {
  return `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}`;
}
