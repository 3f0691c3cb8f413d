import { expect, onTestFinished, test } from "vitest";
import { createLogger } from "../../src/log.ts";
import type { TraceContext } from "../../src/trace-context.ts";
import { openTracing } from "../../src/tracing/index.ts";
import { startCollector } from "../conformance/otlp-collector.ts";

async function open(ratio = 0) {
  const collector = await startCollector();
  onTestFinished(() => collector.close());
  const lines: Record<string, unknown>[] = [];
  const log = createLogger("info", { stream: { write: (line: string) => void lines.push(JSON.parse(line)) } });
  const tracing = await openTracing({ endpoint: collector.url, ratio, version: "1", log });
  onTestFinished(() => tracing.close());
  const record = (name: string) =>
    tracing.begin({ name, kind: "server", beganMs: performance.now() }, undefined).end(performance.now(), {});
  return { collector, lines, tracing, record };
}

const context = (isSampled: boolean): TraceContext => {
  return { traceId: "1".repeat(32), spanId: "1".repeat(16), isSampled, state: "", baggage: "" };
};

test("a caller who is known decides, up to a rate; of others the ratio decides", async () => {
  const never = (await open(0)).tracing;
  expect(never.chooses(context(true), "u")).toBe(true);
  expect(never.chooses(context(true), undefined)).toBe(false);
  expect(never.chooses(undefined, "u")).toBe(false);
  const chosen = Array.from({ length: 1000 }, () => never.chooses(context(true), "u")).filter(Boolean);
  expect(chosen.length).toBeLessThan(1000);
  const always = (await open(1)).tracing;
  expect(always.chooses(context(false), "u")).toBe(false);
  expect(always.chooses(context(false), undefined)).toBe(true);
  expect(always.chooses(undefined, "u")).toBe(true);
});

test("a collector that refuses is logged once when that begins and once when it ends", async () => {
  const { collector, lines, record } = await open();
  collector.answer(400);
  for (const name of ["lost 1", "lost 2"]) {
    const before = collector.exports();
    record(name);
    await expect.poll(collector.exports).toBe(before + 1);
  }
  expect(lines).toMatchObject([{ level: "warn", msg: "traces not exported", reason: expect.any(String) }]);
  collector.answer(200);
  record("kept");
  await expect.poll(() => lines.length).toBe(2);
  expect(lines[1]).toMatchObject({ level: "warn", msg: "traces exported again", lost: 2 });
  expect(collector.spans.map(({ name }) => name)).toEqual(["kept"]);
});

test("what has ended is sent before it closes", async () => {
  const { collector, tracing, record } = await open();
  for (let i = 0; i < 1200; i++) record(`span ${i}`);
  await tracing.close();
  expect(collector.spans).toHaveLength(1200);
});
