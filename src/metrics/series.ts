/** Series of a metric: how they are made, distinguished and added up. */
import type { HistogramValue } from "../histogram/index.ts";
import type { Series } from "./registry.ts";

/** A series for each value of one label. */
export function seriesBy(label: string, values: Iterable<readonly [string, Series["value"]]>): readonly Series[] {
  return Array.from(values, ([text, value]) => ({ labels: { [label]: text }, value }));
}

/** Identifies a series of a metric. */
export function keyOf({ labels }: Series): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** One series for equal labels, with the sum of their values. */
export function summed(series: readonly Series[]): readonly Series[] {
  const sums = new Map<string, Series>();
  for (const one of series) {
    const key = keyOf(one);
    const before = sums.get(key);
    sums.set(key, before === undefined ? one : { ...one, value: sumOf(before.value, one.value) });
  }
  return [...sums.values()];
}

function sumOf(a: Series["value"], b: Series["value"]): Series["value"] {
  if (typeof a === "number" || typeof b === "number") return Number(a) + Number(b);
  return { counts: a.counts.map((count, i) => count + (b as HistogramValue).counts[i]!), sum: a.sum + b.sum };
}
