/** What findings need to know of vulnerabilities, from the indexed columns of their rows. */
import type { Finding_Level } from "../../../../gen/platform/findings/v1/findings_pb.ts";
import type { ReadSession, Row } from "../../../store/index.ts";
import { vulnerabilities } from "../../matches/vulnerabilities.ts";

/** A vulnerability. */
export interface KnownVulnerability {
  readonly uid: string;
  readonly id: string;
  /** Its other ids. */
  readonly aliases: readonly string[];
  readonly level: Finding_Level;
  /** From 0 to 10; undefined when no rating has a score. */
  readonly score: number | undefined;
  /** From 0 to 1; undefined when unknown. */
  readonly epss: number | undefined;
  readonly knownExploited: boolean;
}

/** The rows that are read at once. */
const portion = 1000;

/** These vulnerabilities, by uid. */
export async function readVulnerabilities(
  session: ReadSession,
  uids: Iterable<string>,
): Promise<Map<string, KnownVulnerability>> {
  const all = [...new Set(uids)];
  const found = new Map<string, KnownVulnerability>();
  for (let start = 0; start < all.length; start += portion) {
    const rows = await session.getMany(vulnerabilities.table, all.slice(start, start + portion));
    for (const row of rows.values()) found.set(row.uid, knownOf(row));
  }
  return found;
}

/** All ids of the vulnerabilities with one of these ids or aliases, by uid. */
export async function vulnerabilitiesNamed(
  session: ReadSession,
  ids: readonly string[],
): Promise<Map<string, readonly string[]>> {
  const where = [{ column: "identifiers", hasAny: ids }];
  const found = new Map<string, readonly string[]>();
  for await (const rows of session.pages(vulnerabilities.table, { where, limit: portion, columns: ["identifiers"] }))
    for (const { uid, columns } of rows) found.set(uid, columns.identifiers as readonly string[]);
  return found;
}

function knownOf({ uid, columns }: Row): KnownVulnerability {
  const { id, identifiers, level, score, epss, known_exploited } = columns as {
    readonly id: string;
    readonly identifiers: readonly string[];
    readonly level: number;
    readonly score: number;
    readonly epss: number;
    readonly known_exploited: number;
  };
  return {
    uid,
    id,
    aliases: identifiers.filter((each) => each !== id),
    level: level as Finding_Level,
    score: score < 0 ? undefined : score / 100,
    epss: epss < 0 ? undefined : epss / 1_000_000,
    knownExploited: known_exploited === 1,
  };
}
