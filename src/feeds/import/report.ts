/**
 * The output of an import: progress, rewritten in place on a terminal and printed every few seconds elsewhere; refusals
 * with file and reason, of which the first hundred are printed; unknown members; and a summary. All but the summary
 * goes to standard error.
 */

import { printable } from "../../log-text.ts";
import type { FeedReport } from "../source/feed.ts";

/** What an import did with an item. */
export type ImportOutcome = "added" | "changed" | "unchanged" | "removed";

/** Counts of an import. */
export interface ImportSummary extends Readonly<Record<ImportOutcome, number>> {
  /** Sum of added, changed, unchanged and refused items. */
  readonly read: number;
  readonly refused: number;
  /** Values of members that the reader does not know. */
  readonly unread: number;
  /** Skipped files. */
  readonly passedOver: number;
  /** Packages that are stored with the reason why nothing can be matched with them; absent if there are none. */
  readonly unmatched?: number;
}

/** The stream for progress: standard error. */
interface ReportOutput {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const maxLine = 2000;
const maxPrintedRefusals = 100;
const maxPrintedMembers = 20;
/** Different members that are counted separately. */
const maxMembers = 1000;
const terminalIntervalMs = 100;
const plainIntervalMs = 5000;
const barWidth = 24;

/** How often something was counted, and the first file. */
type Counts = Map<string, { count: number; readonly first: string }>;

/** The report of one import. */
export class ImportReport implements FeedReport {
  readonly #output: ReportOutput;
  readonly #now: () => number;
  readonly #startMs: number;
  readonly #counts = { added: 0, changed: 0, unchanged: 0, removed: 0, refused: 0, unread: 0, passedOver: 0 };
  readonly #members: Counts = new Map();
  readonly #unmatched: Counts = new Map();
  #fraction: number | undefined;
  #nextMs: number;
  #isComplete = true;
  #isLineOpen = false;

  /** @param now a monotonic clock in milliseconds. */
  constructor(output: ReportOutput, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#startMs = now();
    this.#nextMs = this.#startMs + this.#intervalMs;
  }

  get summary(): ImportSummary {
    const { added, changed, unchanged, refused } = this.#counts;
    const unmatched = [...this.#unmatched.values()].reduce((sum, { count }) => sum + count, 0);
    return { read: added + changed + unchanged + refused, ...this.#counts, ...(unmatched > 0 && { unmatched }) };
  }

  count(what: ImportOutcome, times = 1): void {
    this.#counts[what] += times;
    this.#show();
  }

  /** Whether all of the feed could be read, so far. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  refuse(name: string, reason: string): void {
    this.#isComplete = false;
    this.refuseRecord(name, reason);
  }

  /** Counts a record that was read and is not accepted. */
  refuseRecord(name: string, reason: string): void {
    this.#counts.refused += 1;
    if (this.#counts.refused <= maxPrintedRefusals) this.print(`refused: ${name}: ${reason}`);
    else if (this.#counts.refused === maxPrintedRefusals + 1) this.print("refused: … and more");
  }

  /** Counts an unknown member of a record of the file `name`. */
  unread(member: string, name: string): void {
    this.#counts.unread += 1;
    countIn(this.#members, member, name);
  }

  /** Counts a package of the record `name` that nothing can be matched with. @param reason in words for people. */
  unmatched(reason: string, name: string): void {
    countIn(this.#unmatched, reason, name);
  }

  skip(_name: string): void {
    this.#counts.passedOver += 1;
  }

  advance(fraction: number): void {
    this.#fraction = fraction;
    this.#show();
  }

  /** Prints a line. What feeds say is cut. */
  print(text: string): void {
    this.#closeLine();
    this.#output.write(`${printable(text.length > maxLine ? `${text.slice(0, maxLine)}…` : text)}\n`);
  }

  /** Clears the progress line and prints what was counted, most frequent first. The summary can follow. */
  end(): void {
    this.#closeLine();
    this.#printCounts("unread", this.#members);
    this.#printCounts("unmatched", this.#unmatched);
  }

  #printCounts(what: string, counts: Counts): void {
    const sorted = [...counts].sort(([, a], [, b]) => b.count - a.count);
    for (const [name, { count, first }] of sorted.slice(0, maxPrintedMembers))
      this.print(`${what}: ${name}: ${count === 1 ? "once" : `${count} times`}, first in ${first}`);
    if (sorted.length > maxPrintedMembers) this.print(`${what}: … and more`);
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

function countIn(counts: Counts, name: string, file: string): void {
  const counted = counts.get(name);
  if (counted !== undefined) counted.count += 1;
  else if (counts.size < maxMembers) counts.set(name, { count: 1, first: file });
}

function barOf(fraction: number): string {
  return "#".repeat(Math.round(fraction * barWidth)).padEnd(barWidth);
}

/** The summary in one line: `read 3, added 2, …`. */
export function summaryText({ passedOver, unmatched = 0, ...counts }: Omit<ImportSummary, "unread">): string {
  const parts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  if (unmatched > 0) parts.push(`unmatched ${unmatched}`);
  const skipped = passedOver === 1 ? "skipped 1 file" : `skipped ${passedOver} files`;
  return [...parts, ...(passedOver > 0 ? [skipped] : [])].join(", ");
}
