/** Compares two sides: both are warmed up, then measured alternately. The order changes with every round. */
import type { Measured } from "./load.ts";

/** One side of a comparison. */
export interface Side {
  /** Runs until the rate is steady. Does nothing when called again. */
  warm(): Promise<void>;
  measure(): Promise<Measured>;
}

/** The measurements of one round. */
export interface Pair {
  readonly ours: Measured;
  readonly peer: Measured;
}

/** The pair with the median ratio, and the spread of all ratios. */
export interface Comparison extends Pair {
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
}

/** Measures both sides in several rounds. */
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

/** Compares by one figure. */
export function comparePairs(pairs: readonly Pair[], figure: keyof Measured): Comparison {
  const ratioOf = ({ ours, peer }: Pair) => ours[figure] / peer[figure];
  const sorted = [...pairs].sort((a, b) => ratioOf(a) - ratioOf(b));
  const middle = sorted[Math.floor(sorted.length / 2)]!;
  return { ...middle, ratio: ratioOf(middle), lowest: ratioOf(sorted[0]!), highest: ratioOf(sorted.at(-1)!) };
}
