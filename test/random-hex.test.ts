import { expect, test } from "vitest";
import { randomHex } from "../src/new-uid.ts";

test("random hex digits are as many as asked for, and never the same", () => {
  const sizes = [8, 20, 8, 31, 1];
  const drawn = Array.from({ length: 5000 }, (_, i) => randomHex(sizes[i % sizes.length]!));
  for (const [i, text] of drawn.entries()) {
    expect(text).toMatch(/^[0-9a-f]+$/);
    expect(text).toHaveLength(2 * sizes[i % sizes.length]!);
  }
  const long = drawn.filter(({ length }) => length > 2);
  expect(new Set(long).size).toBe(long.length);
  expect(new Set(long.map((text) => text.slice(0, 16))).size).toBe(long.length);
});
