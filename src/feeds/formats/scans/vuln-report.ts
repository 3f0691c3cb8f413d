/**
 * Reports of vulnerability scanners about an image: the JSON of Grype and of Trivy. Both list a finding for each
 * package that has a vulnerability. A finding that cannot be read is refused alone.
 */
import { Fields } from "../../records/fields.ts";
import { parseJson } from "../../records/parse.ts";
import type { ReadNotes } from "../../records/read-each.ts";
import { FeedRefusal } from "../../source/refusal.ts";
import { readGrype } from "./grype.ts";
import type { VulnScan } from "./scan.ts";
import { readTrivy } from "./trivy.ts";

/** Reads a report. Errors: FeedRefusal for what is not a report. */
export function readVulnReport(bytes: Uint8Array, notes: ReadNotes): VulnScan {
  const fields = new Fields(parseJson(bytes));
  if (fields.has("matches") && fields.has("descriptor")) return readGrype(fields, notes);
  if (fields.has("SchemaVersion")) return readTrivy(fields, notes);
  throw new FeedRefusal("is neither a report of Grype nor one of Trivy in JSON");
}
