/**
 * The best result of each row so far, in `best.json`. A result is kept where all of its rounds are better than all
 * rounds of the one before, so that luck does not count.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { git } from "./commit.ts";
import { type Outcome, round2 } from "./table.ts";

/** The best result of a row. */
export interface Best {
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
  /** The commit that it was measured on. */
  readonly commit: string;
}

const file = new URL("best.json", import.meta.url);

/** The best results by row. */
export function readBest(): Readonly<Record<string, Best>> {
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** Prints how far each row is from its best result. */
export function printDistances(outcomes: readonly Outcome[]): void {
  const best = readBest();
  for (const { name, figure, sqlite } of outcomes) {
    const before = best[name];
    if (before === undefined) continue;
    const change = (figure === "perSecond" ? sqlite.ratio / before.ratio : before.ratio / sqlite.ratio) - 1;
    const isBelow = isBetter({ figure }, before, sqlite);
    console.log(
      `${name.padEnd(30)} ${change < 0 ? "" : "+"}${round2(change * 100)} % from ${round2(before.ratio)} of ${before.commit}${isBelow ? ", below its interval" : ""}`,
    );
  }
}

/** Keeps the results that are better than all before. */
export function keepBest(outcomes: readonly Outcome[]): void {
  const best: Record<string, Best> = { ...readBest() };
  for (const { name, figure, sqlite } of outcomes) {
    if (best[name] !== undefined && !isBetter({ figure }, sqlite, best[name])) continue;
    const [ratio, lowest, highest] = [sqlite.ratio, sqlite.lowest, sqlite.highest].map(round2) as [
      number,
      number,
      number,
    ];
    best[name] = { ratio, lowest, highest, commit: currentCommit() };
  }
  writeFileSync(file, `${JSON.stringify(best, null, 2)}\n`);
}

type Interval = Pick<Best, "lowest" | "highest">;

/** Whether an interval is better than another one and does not overlap it. */
function isBetter(row: Pick<Outcome, "figure">, ours: Interval, other: Interval): boolean {
  if (row.figure === "perSecond") return ours.lowest > other.highest;
  return ours.highest < other.lowest;
}

/** With `+` where the working tree differs from the commit. */
function currentCommit(): string {
  return git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain", "--", "src") === "" ? "" : "+");
}
