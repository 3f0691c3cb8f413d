import { expect, test } from "vitest";
import { cycleOf, lifeCycleOf, type ProductCycle } from "../../../src/services/registry/products.ts";

const cycle = (version: string, more: Partial<ProductCycle> = {}): ProductCycle => ({
  version,
  releaseDate: "",
  eolDate: "",
  isEol: false,
  isLts: false,
  ltsDate: "",
  latest: "",
  ...more,
});

const python = { name: "python", cycles: ["3.14", "3.13", "3.1", "3"].map((version) => cycle(version)) };

test.each([
  ["3.13", "3.13"],
  ["3.13.5-r1", "3.13"],
  ["3.13-dev", "3.13"],
  ["3.1", "3.1"],
  ["3.15", "3"],
  ["3.1rc1", "3.1"],
  ["latest", "3.14"],
  ["latest-dev", "3.14"],
  ["30", undefined],
  ["latestest", undefined],
  ["sha256-abc", undefined],
])("the tag %s is of version %s", (tag, version) => {
  expect(cycleOf(python, tag)?.version).toBe(version);
});

test.each([
  [{ eolDate: "2026-08-31" }, "2026-08-30", "active"],
  [{ eolDate: "2026-08-31" }, "2026-08-31", "grace"],
  [{ eolDate: "2026-08-31" }, "2027-02-27", "grace"],
  [{ eolDate: "2026-08-31" }, "2027-02-28", "inactive"],
  [{ eolDate: "2026-05-15" }, "2026-11-14", "grace"],
  [{ eolDate: "2026-05-15" }, "2026-11-15", "inactive"],
  [{ isEol: true }, "2026-01-01", "inactive"],
  [{}, "2026-01-01", "active"],
])("a version with %j is on %s %s", (more, day, state) => {
  expect(lifeCycleOf(cycle("1", more), Date.parse(`${day}T00:00:00Z`)).state).toBe(state);
});
