import { describe, expect, it } from "vitest";
import { maxPageBytes, pageLength } from "../../src/resource/page-bytes.ts";

const length = (sizes: readonly number[]) => pageLength(sizes, (size) => size);

describe("the length of a page", () => {
  it.each([
    [[], 0],
    [[0], 1],
    [Array(200).fill(1000), 200],
    [Array(200).fill(100_000), 36],
    [[maxPageBytes - 100_000, 50_000, 50_000], 2],
    [[maxPageBytes, 1], 1],
    [[10 * maxPageBytes], 1],
    [[1, 10 * maxPageBytes, 1], 1],
  ])("%# is what fits, one item at least", (sizes, expected) => {
    expect(length(sizes)).toBe(expected);
  });
});
