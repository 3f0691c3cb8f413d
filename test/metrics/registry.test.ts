/** Reading the instruments of a process. */
import { expect, test } from "vitest";
import { createMetrics } from "../../src/metrics/index.ts";

test("an instrument that fails, or takes long, is left out and reported; the others are read", async () => {
  const reported: string[] = [];
  const metrics = createMetrics((error, name) => void reported.push(`${name}: ${(error as Error).message}`));
  const gauge = { kind: "gauge", description: "A gauge." } as const;
  metrics.add({ ...gauge, name: "works", read: () => 1 });
  metrics.add({ ...gauge, name: "waits", read: async () => [{ labels: { a: "b" }, value: 2 }] });
  metrics.add({ ...gauge, name: "knows nothing", read: () => undefined });
  metrics.add({
    ...gauge,
    name: "fails",
    read() {
      throw new Error("broken");
    },
  });
  metrics.add({ ...gauge, name: "hangs", read: () => new Promise<never>(() => {}) });
  expect((await metrics.collect()).map(({ name, series }) => [name, series])).toEqual([
    ["works", [{ labels: {}, value: 1 }]],
    ["waits", [{ labels: { a: "b" }, value: 2 }]],
  ]);
  expect(reported).toEqual(["fails: broken", "hangs: it takes longer than 1000 ms"]);
  expect(() => metrics.add({ ...gauge, name: "works", read: () => 1 })).toThrow("the metric works is added twice");
});
