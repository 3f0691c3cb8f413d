import fc from "fast-check";
import { expect, test } from "vitest";
import { TokenBuckets } from "../src/token-buckets.ts";

test("a bucket gives its burst at once, then its rate, and says when it has a token again", () => {
  const buckets = new TokenBuckets(() => ({ perSecond: 10, burst: 3 }));
  expect([0, 0, 0, 0].map((ms) => buckets.take("a", ms))).toEqual([0, 0, 0, 100]);
  expect(buckets.take("b", 0)).toBe(0);
  expect(buckets.take("a", 60)).toBe(40);
  expect(buckets.take("a", 100)).toBe(0);
  expect(buckets.take("a", 100)).toBe(100);
  expect([0, 0, 0, 0].map((ms) => buckets.take("a", 60_000 + ms))).toEqual([0, 0, 0, 100]);
});

test("in no span of time more than the burst and the rate are taken, and who waits as told is served", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5000 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 200 }),
      (perSecond, burst, pauses) => {
        const buckets = new TokenBuckets(() => ({ perSecond, burst }));
        const taken: number[] = [];
        let nowMs = 0;
        for (const pauseMs of pauses) {
          nowMs += pauseMs;
          const waitMs = buckets.take("a", nowMs);
          if (waitMs === 0) taken.push(nowMs);
          else {
            nowMs += waitMs;
            expect(buckets.take("a", nowMs)).toBe(0);
            taken.push(nowMs);
          }
        }
        for (const [i, fromMs] of taken.entries())
          for (const [j, toMs] of taken.slice(i).entries())
            expect(j + 1).toBeLessThanOrEqual(burst + ((toMs - fromMs) * perSecond) / 1000 + 1e-6);
      },
    ),
  );
});

test("who waits as told is served where fractions of tokens are rounded", () => {
  const buckets = new TokenBuckets(() => ({ perSecond: 1, burst: 2 }));
  const waits: number[] = [];
  let nowMs = 0;
  for (const pauseMs of [0, 21, 0, 185, 0]) {
    nowMs += pauseMs;
    const waitMs = buckets.take("a", nowMs);
    nowMs += waitMs;
    if (waitMs > 0) waits.push(buckets.take("a", nowMs));
  }
  expect(waits).toEqual([0, 0, 0]);
});

test("the clock may go back", () => {
  const buckets = new TokenBuckets(() => ({ perSecond: 1, burst: 1 }));
  expect(buckets.take("a", 1000)).toBe(0);
  expect(buckets.take("a", 0)).toBe(1000);
  expect(buckets.take("a", 1000)).toBe(0);
});
