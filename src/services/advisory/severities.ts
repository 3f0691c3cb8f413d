/**
 * Severities: the ratings in the metadata of a vulnerability. They are looked up when an advisory or report is read and
 * stored nowhere else, so the order of imports does not matter and a correction applies everywhere.
 */
import type { Severity, VulnerabilityMetadata } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { messageOf } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { vulnerabilityMetadata } from "./vulnerability-metadata.ts";

/** The metadata that are read at once. */
const portion = 1000;

/**
 * The ratings of several vulnerabilities, each given by all its ids: those of the metadata whose id or alias is one of
 * these, distinct by scale and score. It is one query for all.
 */
export async function severitiesOf(
  session: ReadSession,
  vulnerabilities: readonly (readonly string[])[],
): Promise<readonly (readonly Severity[])[]> {
  const byId = new Map<string, Severity[]>();
  for (const ids of vulnerabilities) for (const id of ids) byId.set(id, []);
  for await (const { row, severities } of ratedMetadata(session, [...byId.keys()]))
    for (const id of row.columns.identifiers as readonly string[])
      for (const severity of severities) byId.get(id)?.push(severity);
  return vulnerabilities.map((ids) => distinct(ids.flatMap((id) => byId.get(id) ?? [])));
}

async function* ratedMetadata(session: ReadSession, ids: readonly string[]) {
  const where = [{ column: "identifiers", hasAny: ids }];
  const query = { where, orderBy: vulnerabilityMetadata.defaultOrder, limit: portion };
  for await (const rows of session.pages(vulnerabilityMetadata.table, query)) {
    for (const row of rows) {
      const { severities }: VulnerabilityMetadata = messageOf(vulnerabilityMetadata, row);
      if (severities.length > 0) yield { row, severities };
    }
  }
}

function distinct(severities: readonly Severity[]): Severity[] {
  const byText = new Map(severities.map((severity) => [`${severity.type} ${severity.score}`, severity]));
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, severity]) => severity);
}
