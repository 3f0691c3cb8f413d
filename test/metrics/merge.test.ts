/** The metrics of several workers as those of one server. */
import { expect, test } from "vitest";
import { type Metric, WorkerTotals } from "../../src/metrics/index.ts";

const counter = (value: number): Metric => ({
  name: "c",
  kind: "counter",
  description: "",
  series: [{ labels: { a: "1" }, value }],
});
const histogram = (...counts: number[]): Metric => ({
  name: "h",
  kind: "histogram",
  description: "",
  boundaries: [1],
  series: [{ labels: {}, value: { counts, sum: 1 } }],
});
const active = (value: number): Metric => ({
  name: "u",
  kind: "upDownCounter",
  description: "",
  series: [{ labels: {}, value }],
});
const gauge = (value: number): Metric => ({
  name: "g",
  kind: "gauge",
  description: "",
  series: [{ labels: {}, value }],
});

function seriesOf(totals: WorkerTotals) {
  return Object.fromEntries(totals.metrics().map(({ name, series }) => [name, series]));
}

test("adds up what adds up, and tells the rest apart", () => {
  const totals = new WorkerTotals();
  totals.update(0, [counter(1), histogram(1, 0), active(2), gauge(5)]);
  totals.update(1, [counter(10), histogram(1, 2), active(3), gauge(6)]);
  expect(seriesOf(totals)).toEqual({
    c: [{ labels: { a: "1" }, value: 11 }],
    h: [{ labels: {}, value: { counts: [2, 2], sum: 2 } }],
    u: [{ labels: {}, value: 5 }],
    g: [
      { labels: { worker: "0" }, value: 5 },
      { labels: { worker: "1" }, value: 6 },
    ],
  });
});

test("what ended workers have counted stays, and what they were doing does not", () => {
  const totals = new WorkerTotals();
  totals.update(0, [counter(1), histogram(1, 0), active(2), gauge(5)]);
  totals.end(0);
  totals.end(0); // once more, without an answer in between
  expect(seriesOf(totals)).toEqual({
    c: [{ labels: { a: "1" }, value: 1 }],
    h: [{ labels: {}, value: { counts: [1, 0], sum: 1 } }],
  });
  totals.update(0, [counter(3)]);
  totals.end(0);
  totals.update(0, [counter(1)]);
  expect(seriesOf(totals).c).toEqual([{ labels: { a: "1" }, value: 5 }]);
});
