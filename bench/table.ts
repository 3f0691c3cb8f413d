/** The output of a run: the lines of a table, and `results.json`. */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import type { Measured } from "./load.ts";
import type { Comparison } from "./pairs.ts";
import { isPinned } from "./processes.ts";
import type { Row } from "./rows.ts";

/** A row with its measurements. */
export interface Outcome extends Pick<Row, "name" | "figure" | "bar"> {
  readonly sqlite: Comparison;
  readonly postgres?: Comparison;
}

/** The content of `results.json`. */
export interface Results {
  readonly date: string;
  readonly mode: "quick" | "full";
  readonly machine: {
    readonly model: string;
    readonly cores: number;
    readonly node: string;
    readonly pinned: boolean;
  };
  /** Ratios by name of the row. Lower is better for times. */
  readonly ratios: Readonly<Record<string, number>>;
  /** Ratios of the platform on PostgreSQL. */
  readonly postgres?: Readonly<Record<string, number>>;
  readonly rows: readonly Outcome[];
}

const resultsFile = new URL("results.json", import.meta.url);

/** This machine. */
export const machine = {
  model: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  node: process.versions.node,
  pinned: isPinned,
};

/** Prints the head of the table. */
export function printHead(): void {
  const { model, cores, node, pinned } = machine;
  console.log(`${model}, ${cores} cores, ${pinned ? "servers on one, load on another" : "not pinned"}, Node ${node}`);
  printLine(["", "ratio", "spread", "bar, aim", "postgres", "ours", "peer"]);
}

/** Prints a line of the table. */
export function printOutcome({ name, figure, bar, sqlite, postgres }: Outcome): void {
  const { ratio, lowest, highest, ours, peer } = sqlite;
  printLine([
    name,
    round2(ratio),
    `${round2(lowest)}–${round2(highest)}`,
    formatBar(figure, bar),
    postgres === undefined ? "" : round2(postgres.ratio),
    format(ours),
    format(peer),
  ]);
}

/** `0.6, 0.8`; for times `≤2, ≤1`. */
export function formatBar(figure: Row["figure"], bar: Row["bar"]): string {
  return bar?.map((limit) => formatLimit(figure, limit)).join(", ") ?? "";
}

/** `0.6`; for a time `≤2`. */
export function formatLimit(figure: Row["figure"], limit: number): string {
  return figure === "perSecond" ? String(limit) : `≤${limit}`;
}

const format = ({ perSecond, p99Ms }: Measured) => `${Math.round(perSecond)}/s p99 ${round2(p99Ms)} ms`;

const widths = [30, 6, 12, 9, 9, 26, 26];

function printLine(cells: readonly (string | number)[]): void {
  console.log(cells.map((cell, i) => String(cell).padEnd(widths[i]!)).join(" "));
}

/** Writes the results of a run. */
export function writeResults(mode: Results["mode"], rows: readonly Outcome[]): Results {
  const ratiosOn = (kind: "sqlite" | "postgres") =>
    Object.fromEntries(rows.flatMap((row) => (row[kind] === undefined ? [] : [[row.name, round2(row[kind].ratio)]])));
  const postgres = ratiosOn("postgres");
  const results: Results = {
    date: new Date().toISOString(),
    mode,
    machine,
    ratios: ratiosOn("sqlite"),
    ...(Object.keys(postgres).length > 0 && { postgres }),
    rows,
  };
  const rounded = (_: string, value: unknown) => (typeof value === "number" ? Math.round(value * 1000) / 1000 : value);
  writeFileSync(resultsFile, `${JSON.stringify(results, rounded, 2)}\n`);
  return results;
}

/** The results of the last run. */
export function readResults(): Results {
  return JSON.parse(readFileSync(resultsFile, "utf8")) as Results;
}

/** The value at a part of the sorted values, from 0 to 1. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Prints a row with one figure. */
export function printFigure(name: string, value: string | number, bar: string, more = ""): void {
  console.log(`${name.padEnd(46)} ${String(value).padEnd(10)} ${bar.padEnd(16)} ${more}`);
}

/** Rounds to two digits; runs differ in the others. */
export function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
