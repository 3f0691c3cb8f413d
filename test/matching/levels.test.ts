import { expect, test } from "vitest";
import { levelOfScore, levelOfWord } from "../../src/matching/levels.ts";

test.each([
  [0, "NONE"],
  [0.1, "LOW"],
  [3.9, "LOW"],
  [4, "MEDIUM"],
  [6.9, "MEDIUM"],
  [7, "HIGH"],
  [8.9, "HIGH"],
  [9, "CRITICAL"],
  [10, "CRITICAL"],
])("%d is %s", (score, level) => {
  expect(levelOfScore(score)).toBe(level);
});

test.each([
  [0, "LOW"],
  [3.9, "LOW"],
  [4, "MEDIUM"],
  [7, "HIGH"],
  [10, "HIGH"],
])("%d of CVSS 2 is %s", (score, level) => {
  expect(levelOfScore(score, "2.0")).toBe(level);
});

test.each([
  ["Important", "HIGH"],
  ["moderate", "MEDIUM"],
  [" low ", "LOW"],
  ["high**", "HIGH"],
  ["unimportant", "NONE"],
  ["negligible", "LOW"],
  ["CRITICAL", "CRITICAL"],
  ["not yet assigned", undefined],
  ["constructor", undefined],
  ["", undefined],
])("%j is %s", (word, level) => {
  expect(levelOfWord(word)).toBe(level);
});
