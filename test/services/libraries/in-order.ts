/** Versions in their order, told from their keys. */
import { expect } from "vitest";
import type { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { versionOrder } from "../../../src/services/libraries/version-order.ts";

/** The sign of the bytewise comparison of two versions' keys. */
export function compareByKey(ecosystem: Ecosystem, a: string, b: string): number {
  const [left, right] = [a, b].map((version) => Buffer.from(versionOrder(ecosystem, version).key)) as [Buffer, Buffer];
  return Buffer.compare(left, right);
}

/** Expects the keys of versions to rise from each line to the next; what stands in one line is equal. */
export function expectRising(ecosystem: Ecosystem, lines: readonly string[]): void {
  const versions = lines.flatMap((line, rank) => line.split(" ").map((version) => ({ version, rank })));
  for (const a of versions)
    for (const b of versions)
      expect(compareByKey(ecosystem, a.version, b.version), `${a.version} and ${b.version}`).toBe(
        Math.sign(a.rank - b.rank),
      );
}
