/** What of the resources an operator's checks look at: issuers, sinks and feeds. */
import { messageOf } from "../resource/index.ts";
import type { ReadSession } from "../store/index.ts";
import { documents } from "./advisory/documents.ts";
import { vulnerabilityMetadata } from "./advisory/vulnerability-metadata.ts";
import { subscriptions } from "./events/subscriptions.ts";
import { identities } from "./iam/identities.ts";
import { identityProviders } from "./iam/identity-providers.ts";
import { readFeeds } from "./matches/feed-claims.ts";

const portion = 200;
/** Above all uids. */
const lastUid = "~";

/** The issuers that identity providers and identities name, each once, at most `max` of either. */
export async function readIssuers(session: ReadSession, max: number): Promise<ReadonlySet<string>> {
  const issuers = new Set<string>();
  const orderBy = [{ column: "issuer", descending: false }];
  for (const { table } of [identityProviders, identities]) {
    // The next row by the index of issuers that has another one.
    for (let issuer = "", found = 0; found < max; found++) {
      const [row] = await session.list(table, { orderBy, after: [issuer, lastUid], limit: 1, columns: ["issuer"] });
      if (row === undefined) break;
      issuer = String(row.columns.issuer);
      issuers.add(issuer);
    }
  }
  return issuers;
}

/** The sinks of enabled subscriptions, at most `max` different origins, each with one address. */
export async function readSinks(session: ReadSession, max: number): Promise<readonly string[]> {
  const sinks = new Map<string, string>();
  for await (const rows of session.pages(subscriptions.table, { limit: portion })) {
    for (const row of rows) {
      const { sink, disableTime } = messageOf(subscriptions, row);
      if (disableTime === undefined) sinks.set(URL.parse(sink)?.origin ?? sink, sink);
    }
    if (sinks.size >= max) break;
  }
  return [...sinks.values()].slice(0, max);
}

/** The feeds that were imported, and what an earlier version may have imported without them. */
export async function readFeedStates(session: ReadSession) {
  return {
    feeds: await readFeeds(session),
    hasMetadata: await session.exists(vulnerabilityMetadata.table, {}),
    hasDocuments: await session.exists(documents.table, {}),
  };
}
