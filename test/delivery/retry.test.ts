import { expect, test } from "vitest";
import { parseRetryAfter, retryDelayMs } from "../../src/delivery/retry.ts";

test("the delay is random, up to a limit that doubles with each attempt, up to an hour", () => {
  const longest = [1, 2, 3, 4, 10, 11, 50].map((attempts) => retryDelayMs(attempts, 0, () => 1));
  expect(longest).toEqual([5000, 10_000, 20_000, 40_000, 2_560_000, 3_600_000, 3_600_000]);
  expect(retryDelayMs(4, 0, () => 0.25)).toBe(10_000);
  expect(retryDelayMs(4, 0, () => 0)).toBe(500);
  expect(retryDelayMs(1, 0, () => 0.1234567)).toBe(617); // a message has no fractions of nanoseconds
});

test("Retry-After can lengthen the delay, up to an hour, and not shorten it", () => {
  expect(retryDelayMs(1, 60_000, () => 1)).toBe(60_000);
  expect(retryDelayMs(1, 1000, () => 1)).toBe(5000);
  expect(retryDelayMs(1, 86_400_000, () => 1)).toBe(3_600_000);
});

const nowMs = Date.UTC(2026, 10, 21);
test.each([
  ["120", 120_000],
  ["0", 0],
  ["Sat, 21 Nov 2026 00:01:00 GMT", 60_000],
  ["Sat, 21 Nov 2026 00:00:00 GMT", 0],
  ["Fri, 20 Nov 2026 00:00:00 GMT", 0],
  ["-5", 0],
  ["1e9", 0],
  ["soon", 0],
  ["", 0],
  [undefined, 0],
  [["1", "2"], 0],
])("Retry-After: %j", (value, ms) => {
  expect(parseRetryAfter(value, nowMs)).toBe(ms);
});
