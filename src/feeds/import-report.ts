/**
 * What an import tells: a line that is rewritten in place on a terminal and comes every few seconds elsewhere, every refusal with file and reason (the
 * first hundred are printed, all are counted), and a summary. Progress and refusals go to standard error.
 */
import type { FeedReport } from "./feed.ts";

/** What became of something that was read, or was there. */
export type ImportOutcome = "added" | "changed" | "unchanged" | "removed";

/** How many things came to what. */
export interface ImportSummary extends Readonly<Record<ImportOutcome, number>> {
  /** Everything of the feed: added, changed, unchanged and refused. */
  readonly read: number;
  readonly refused: number;
  /** Files that are nothing to read here. */
  readonly passedOver: number;
}

/** Where progress is written: standard error. */
export interface ReportOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const maxPrintedRefusals = 100;
const terminalIntervalMs = 100;
const plainIntervalMs = 5000;
const barWidth = 24;

/** The report of one import. */
export class ImportReport implements FeedReport {
  readonly #output: ReportOutput;
  readonly #now: () => number;
  readonly #startMs: number;
  readonly #counts = { added: 0, changed: 0, unchanged: 0, removed: 0, refused: 0, passedOver: 0 };
  #fraction: number | undefined;
  #nextMs: number;
  #isLineOpen = false;

  /** @param now milliseconds of a clock that only goes forward. */
  constructor(output: ReportOutput, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#startMs = now();
    this.#nextMs = this.#startMs + this.#intervalMs;
  }

  get summary(): ImportSummary {
    const { added, changed, unchanged, removed, refused, passedOver } = this.#counts;
    return { read: added + changed + unchanged + refused, added, changed, unchanged, removed, refused, passedOver };
  }

  count(what: ImportOutcome, times = 1): void {
    this.#counts[what] += times;
    this.#show();
  }

  refuse(name: string, reason: string): void {
    this.#counts.refused += 1;
    if (this.#counts.refused <= maxPrintedRefusals) this.tell(`refused: ${name}: ${reason}`);
    else if (this.#counts.refused === maxPrintedRefusals + 1) this.tell("refused: … and more");
  }

  passOver(_name: string): void {
    this.#counts.passedOver += 1;
  }

  advance(fraction: number): void {
    this.#fraction = fraction;
    this.#show();
  }

  /** Writes a line of its own. */
  tell(text: string): void {
    this.#closeLine();
    this.#output.write(`${text}\n`);
  }

  /** Takes the progress away; the summary can follow. */
  end(): void {
    this.#closeLine();
  }

  get #intervalMs(): number {
    return this.#output.isTTY === true ? terminalIntervalMs : plainIntervalMs;
  }

  #show(): void {
    const nowMs = this.#now();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + this.#intervalMs;
    const { read, refused } = this.summary;
    const perSecond = Math.round((read * 1000) / (nowMs - this.#startMs));
    const parts = [`${read} read`, `${refused} refused`, `${perSecond}/s`];
    if (this.#fraction !== undefined) parts.unshift(`${Math.floor(this.#fraction * 100)}%`);
    if (this.#output.isTTY !== true) return void this.#output.write(`${parts.join(", ")}\n`);
    const bar = this.#fraction === undefined ? "" : `[${barOf(this.#fraction)}] `;
    this.#output.write(`\r${`${bar}${parts.join(", ")}`.slice(0, (this.#output.columns ?? 80) - 1)}\x1b[K`);
    this.#isLineOpen = true;
  }

  #closeLine(): void {
    if (this.#isLineOpen) this.#output.write("\r\x1b[K");
    this.#isLineOpen = false;
  }
}

function barOf(fraction: number): string {
  return "#".repeat(Math.round(fraction * barWidth)).padEnd(barWidth);
}

/** A summary in one line: `read 3, added 2, …`. */
export function summaryText({ passedOver, ...counts }: ImportSummary): string {
  const parts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return [...parts, ...(passedOver > 0 ? [`passed over ${passedOver} files`] : [])].join(", ");
}
