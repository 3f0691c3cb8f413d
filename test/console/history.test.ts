/** How many advisories were open and fixed over time. */
import { expect, test } from "vitest";
import { historyOf } from "../../console/src/advisory/history.ts";

const event = (createTime: string, kind: string, reviewState = "REVIEW_STATE_APPROVED") => ({
  createTime,
  [kind]: {},
  reviewState,
});

test("an advisory is open until it is fixed or does not affect the package", () => {
  const advisories = [
    { events: [event("2026-01-03T10:00:00Z", "fixed"), event("2026-01-01T10:00:00Z", "detection")] },
    {
      events: [
        event("2026-01-04T10:00:00Z", "falsePositiveDetermination"),
        event("2026-01-02T10:00:00Z", "truePositiveDetermination"),
        event("2026-01-02T09:00:00Z", "detection"),
      ],
    },
    {
      events: [
        event("2026-01-04T10:00:00Z", "fixed", "REVIEW_STATE_PENDING"),
        event("2026-01-04T09:00:00Z", "patched"),
      ],
    },
  ];
  expect(historyOf(advisories)).toEqual([
    { date: "2026-01-01", open: 1, fixed: 0 },
    { date: "2026-01-02", open: 2, fixed: 0 },
    { date: "2026-01-03", open: 1, fixed: 1 },
    { date: "2026-01-04", open: 0, fixed: 2 },
  ]);
});

test("events of documents have another name for their time, and none counts without one", () => {
  expect(historyOf([{ events: [{ timestamp: "2026-01-01T10:00:00Z", fixed: {} }, { detection: {} }] }])).toEqual([
    { date: "2026-01-01", open: 0, fixed: 1 },
  ]);
  expect(historyOf([{ events: [{ fixed: {} }] }, {}])).toEqual([]);
});

test("many years have at most 60 points, and the last one has everything", () => {
  const advisories = Array.from({ length: 500 }, (_, i) => ({
    events: [event(new Date(Date.UTC(2000, 0, 1 + i * 17)).toISOString(), "detection")],
  }));
  const points = historyOf(advisories);
  expect(points.length).toBeLessThanOrEqual(61);
  expect(points.length).toBeGreaterThan(50);
  expect(points.at(-1)?.open).toBe(500);
});
