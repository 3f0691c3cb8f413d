/** What warm calls cost, in counts that do not depend on the machine: a change that adds to them is seen here. */
import { expect, test } from "vitest";
import { countCalls, countedCalls, recordedCounts } from "../../bench/counts.ts";

const tolerance = 0.03;

test("warm calls cost what is recorded", () => {
  const [counts, recorded] = [countCalls(), recordedCounts()];
  const changes = countedCalls.flatMap((call) =>
    (["functions", "bytes"] as const).flatMap((unit) => {
      const change = counts[call][unit] / recorded[call][unit] - 1;
      if (Math.abs(change) <= tolerance) return [];
      return [`${call}: ${counts[call][unit]} ${unit}, recorded ${recorded[call][unit]}`];
    }),
  );
  const advice =
    "node bench/counts.ts CALL names the functions; --record records the new counts, with the reason in the commit";
  expect(changes, advice).toEqual([]);
});
