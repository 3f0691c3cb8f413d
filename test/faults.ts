/** Checks that find what a contributor has forgotten: each fault is a sentence that names the file and what to do. */
import { expect } from "vitest";

/** Fails with the faults, one a line. */
export function expectNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) expect.fail(`\n${[...new Set(faults)].join("\n")}`);
}
