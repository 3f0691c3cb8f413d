/** Comparisons of versions by their keys. */
import { expect } from "vitest";
import { type VersionScheme, versionOrder } from "../../src/versions/order.ts";

/** The sign of the bytewise comparison of two versions' keys. */
export function compareByKey(scheme: VersionScheme, a: string, b: string): number {
  const [left, right] = [a, b].map((version) => Buffer.from(versionOrder(scheme, version).key)) as [Buffer, Buffer];
  return Buffer.compare(left, right);
}

/** Expects the versions of each line to be before those of the next. Versions in one line are equal. */
export function expectRising(scheme: VersionScheme, lines: readonly string[]): void {
  const versions = lines.flatMap((line, rank) => line.split(" ").map((version) => ({ version, rank })));
  for (const a of versions)
    for (const b of versions)
      expect(compareByKey(scheme, a.version, b.version), `${a.version} and ${b.version}`).toBe(
        Math.sign(a.rank - b.rank),
      );
}
