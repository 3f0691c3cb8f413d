/** Storing the records of a world. */
import { readOsv } from "../../../src/feeds/index.ts";
import type { VulnerabilityFacts } from "../../../src/matching/index.ts";
import { FactWriter } from "../../../src/services/index.ts";
import type { WriteSession } from "../../../src/store/index.ts";
import type { RawRecord } from "./inputs.ts";

/** Stores records, as an importer does. */
export async function saveRecords(session: WriteSession, records: readonly RawRecord[], nowMs: number) {
  const writer = new FactWriter(session, nowMs);
  for (const record of records) await writer.saveAlone(record.feed, factsOfRecord(record));
  await writer.settle();
}

function factsOfRecord(record: RawRecord): VulnerabilityFacts {
  if ("osv" in record) return readOsv(record.osv, () => {}).facts;
  const { aliases, modifyMs, kind, name, events } = record.advisory;
  const key = `pkg:apk/wolfi/${name}`;
  const facts = [{ key, distro: "", ranges: [], versions: [] }];
  return {
    id: record.id,
    aliases,
    upstream: [],
    related: [],
    summary: "",
    modifyMs,
    weaknesses: [],
    ratings: [],
    packages: [{ kind, key, facts, events }],
  };
}
