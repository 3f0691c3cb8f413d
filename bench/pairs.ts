/** How two are compared: both hot, then in turns, the first of a round always the other one. */
import type { Measured } from "./load.ts";

/** One of the two. */
export interface Side {
  /** Lets it run until it is as fast as it gets; done again it costs nothing. */
  warm(): Promise<void>;
  measure(): Promise<Measured>;
}

/** What was measured side by side. */
export interface Pair {
  readonly ours: Measured;
  readonly peer: Measured;
}

/** The pair whose ratio is the median, and the spread of all. */
export interface Comparison extends Pair {
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
}

/** Measures in as many rounds. */
export async function measurePairs(ours: Side, peer: Side, rounds: number): Promise<Pair[]> {
  await ours.warm();
  await peer.warm();
  const pairs: Pair[] = [];
  for (let round = 0; round < rounds; round++) {
    const isFirst = round % 2 === 0;
    const a = await (isFirst ? ours : peer).measure();
    const b = await (isFirst ? peer : ours).measure();
    pairs.push(isFirst ? { ours: a, peer: b } : { ours: b, peer: a });
  }
  return pairs;
}

/** Compares by one figure of what was measured. */
export function comparePairs(pairs: readonly Pair[], figure: keyof Measured): Comparison {
  const ratioOf = ({ ours, peer }: Pair) => ours[figure] / peer[figure];
  const sorted = [...pairs].sort((a, b) => ratioOf(a) - ratioOf(b));
  const middle = sorted[Math.floor(sorted.length / 2)]!;
  return { ...middle, ratio: ratioOf(middle), lowest: ratioOf(sorted[0]!), highest: ratioOf(sorted.at(-1)!) };
}
