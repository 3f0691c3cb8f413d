/** Vulnerabilities: alias groups of the records of all feeds. Imports write them; everybody may read them. */
import type { HandlerContext } from "@connectrpc/connect";
import {
  ListVulnerabilitiesRequestSchema,
  type ListVulnerabilitiesResponse,
  VulnerabilitiesService,
  VulnerabilitySchema,
} from "../../../gen/platform/findings/v1/vulnerabilities_pb.ts";
import type { Awaitable } from "../../awaitable.ts";
import { packageKeyOfUrl } from "../../matching/index.ts";
import { defineResource, implement, listResources } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { batchGetNamed, getNamed } from "../named.ts";

/** The column of a score or a probability that is not known. */
const unknown = -1;

export const vulnerabilities = defineResource({
  schema: VulnerabilitySchema,
  list: ListVulnerabilitiesRequestSchema,
  columns: {
    id: { text: ({ id }) => id },
    identifiers: { texts: ({ id, aliases }) => [id, ...aliases] },
    related: { texts: ({ records }) => records.flatMap(({ upstream, related }) => [...upstream, ...related]) },
    // The package URLs of affected packages are their keys.
    packages: { texts: ({ affected }) => affected.map(({ packageUrl }) => packageUrl).filter((key) => key !== "") },
    level: { integer: ({ level }) => level },
    score: { integer: ({ score }) => (score === undefined ? unknown : Math.round(score * 100)) },
    epss: { integer: ({ epss }) => (epss === undefined ? unknown : Math.round(epss * 1_000_000)) },
    known_exploited: { integer: ({ knownExploited }) => (knownExploited === undefined ? 0 : 1) },
    publish_us: { integer: ({ publishTime }) => microseconds(publishTime) },
    modify_us: { integer: ({ modifyTime }) => microseconds(modifyTime) },
  },
  filters: {
    ids: (ids) => [{ column: "identifiers", hasAny: ids }],
    relatedIds: (ids) => [{ column: "related", hasAny: ids }],
    packages: (urls) => [{ column: "packages", hasAny: urls.map((url) => packageKeyOfUrl(url) ?? "") }],
    levels: (levels) => [{ column: "level", in: levels }],
    minEpss: (epss) => [{ column: "epss", greaterThan: Math.ceil((epss ?? 0) * 1_000_000) - 1 }],
    knownExploited: (isListed) => [{ column: "known_exploited", equals: isListed ? 1 : 0 }],
  },
  sortNames: {
    id: "id",
    level: "level",
    score: "score",
    epss: "epss",
    publish_time: "publish_us",
    modify_time: "modify_us",
  },
  defaultOrder: [{ column: "id", descending: false }],
});

/** Lists are the same for everybody. */
const everything = [""];

export const vulnerabilitiesService = implement(VulnerabilitiesService, [vulnerabilities], {
  getVulnerability: getNamed(vulnerabilities, vulnerabilitiesNamed),
  batchGetVulnerabilities: batchGetNamed(
    vulnerabilities,
    VulnerabilitiesService.method.batchGetVulnerabilities,
    vulnerabilitiesNamed,
  ),
  listVulnerabilities: (request, context: HandlerContext) =>
    listResources(vulnerabilities, request, context, everything) as Awaitable<ListVulnerabilitiesResponse>,
});

/**
 * For each of `given` the uid of the vulnerability with this uid, id or alias, in this order; of several with the alias
 * the first by id. What is given from the first on that there is none for.
 */
async function vulnerabilitiesNamed(session: ReadSession, given: readonly string[]): Promise<readonly string[]> {
  const { table, defaultOrder: orderBy } = vulnerabilities;
  const rows = await session.getMany(table, given);
  const found: string[] = [];
  for (const name of given) {
    const where = [{ column: "identifiers", hasAny: [name] }];
    const uid = rows.has(name) ? name : (await session.first(table, { where, orderBy }))?.uid;
    if (uid === undefined) break;
    found.push(uid);
  }
  return [...found, ...given.slice(found.length)];
}

/** Times that are too far away for a column are the first or the last that it can have. */
function microseconds(time: { readonly seconds: bigint; readonly nanos: number } | undefined): number {
  if (time === undefined) return 0;
  const us = Number(time.seconds) * 1_000_000 + Math.floor(time.nanos / 1000);
  return Math.min(Number.MAX_SAFE_INTEGER, Math.max(Number.MIN_SAFE_INTEGER, us));
}
