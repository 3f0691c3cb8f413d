/** The records of the PyPA advisory database, which list their affected versions beside the ranges. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openFeed, parseRecords } from "../../src/feeds/index.ts";
import { AffectedPackage } from "../../src/matching/affected.ts";
import { ComponentKey } from "../../src/matching/component.ts";
import { type FactPackage, keyOfOsvPackage } from "../../src/matching/ecosystems.ts";
import type { AffectedRange, RangeEvent } from "../../src/matching/facts.ts";

interface OsvRecord {
  readonly id: string;
  readonly affected?: readonly {
    readonly package: { readonly ecosystem: string; readonly name: string };
    readonly ranges?: readonly { readonly type: AffectedRange["kind"]; readonly events: readonly RangeEvent[] }[];
    readonly versions?: readonly string[];
  }[];
}

const file = fileURLToPath(new URL("../../../shared/data/pysec-osv.tar.gz", import.meta.url));
if (!existsSync(file)) console.log("matching: real records are not tried, ../shared/data/pysec-osv.tar.gz is not here");

async function* readRecords(): AsyncGenerator<OsvRecord> {
  const report = { refuse: () => {}, skip: () => {}, advance: () => {} };
  for await (const each of openFeed(file, { report })) {
    for (const { value } of await parseRecords(each)) yield value as OsvRecord;
  }
}

test.skipIf(!existsSync(file))("2,661 real records affect every version that they list", async () => {
  const missed: string[] = [];
  let count = 0;
  for await (const { id, affected = [] } of readRecords()) {
    count++;
    for (const { package: named, ranges = [], versions = [] } of affected) {
      const about = keyOfOsvPackage(named) as FactPackage;
      expect(about.key, id).toMatch(/^pkg:pypi\/[a-z0-9-]+$/);
      const fact = { ...about, ranges: ranges.map(({ type: kind, events }) => ({ kind, events })), versions };
      const compiled = new AffectedPackage([fact]);
      const isMissed = (version: string) =>
        compiled.evaluate([new ComponentKey(about.key, "pypi", version)])?.isAffected !== true;
      // What is not a version of PEP 440 is found by its text alone.
      missed.push(...versions.filter(isMissed));
    }
  }
  expect(count).toBe(2661);
  expect(missed).toEqual([]);
});
