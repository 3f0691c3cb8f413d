/** The official Connect conformance runner against our doors, with the fast lane and without it. */
import { describe, expect, it } from "vitest";
import { buildRunner, runConformance } from "../connect-conformance/runner.ts";

const runner = buildRunner();

describe("every case that the runner has for what we serve", () => {
  it.skipIf(runner === undefined).each<[what: string, doors: string, more: string[]]>([
    ["with the fast lane", "fast-lane", []],
    // Streams never come near the fast lane.
    ["unary calls without it", "full-door", ["--run", "**/unary/**"]],
  ])("%s", { timeout: 300_000 }, async (_what, doors, more) => {
    const { isContent, printed } = await runConformance(runner!, doors, more);
    console.log(`${doors}: ${/\d+ passed.*/.exec(printed)?.[0]}`);
    expect(isContent, printed).toBe(true);
  });
});
