/**
 * Severities: the ratings in the metadata of a vulnerability, for whatever names the vulnerability. They are looked up when they are read and
 * stored nowhere else, so it does not matter which of the two came first, and what a feed corrects is corrected everywhere.
 */
import type { Severity, VulnerabilityMetadata } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { messageOf } from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { vulnerabilityMetadata } from "./vulnerability-metadata.ts";

/** Metadata read at once. */
const portion = 1000;

/**
 * The ratings of several vulnerabilities, each given by all the ids it is known by: those of every metadata whose id or alias is one of these,
 * each rating once, by scale and score. One query for all.
 */
export async function severitiesOf(
  session: ReadSession,
  vulnerabilities: readonly (readonly string[])[],
): Promise<readonly (readonly Severity[])[]> {
  const byId = new Map<string, Severity[]>();
  for (const ids of vulnerabilities) for (const id of ids) byId.set(id, []);
  for await (const { row, severities } of ratedMetadata(session, [...byId.keys()]))
    for (const id of row.facets.identifiers as readonly string[])
      for (const severity of severities) byId.get(id)?.push(severity);
  return vulnerabilities.map((ids) => distinct(ids.flatMap((id) => byId.get(id) ?? [])));
}

async function* ratedMetadata(session: ReadSession, ids: readonly string[]) {
  const where = [{ column: "identifiers", hasAny: ids }];
  const query = { where, orderBy: vulnerabilityMetadata.defaultOrder, skip: 0, limit: portion };
  let last: Row | undefined;
  do {
    const after = last && [last.facets.id as string, last.uid];
    const rows = await session.list(vulnerabilityMetadata.table, { ...query, ...(after && { after }) });
    for (const row of rows) {
      const { severities }: VulnerabilityMetadata = messageOf(vulnerabilityMetadata, row);
      if (severities.length > 0) yield { row, severities };
    }
    last = rows.length < portion ? undefined : rows.at(-1);
  } while (last !== undefined);
}

function distinct(severities: readonly Severity[]): Severity[] {
  const byText = new Map(severities.map((severity) => [`${severity.type} ${severity.score}`, severity]));
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, severity]) => severity);
}
