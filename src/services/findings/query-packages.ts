/** QueryPackages: what is known about packages that need not be in any image. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type PackageQuery,
  PackageResultSchema,
  type QueryPackagesRequest,
  QueryPackagesResponseSchema,
} from "../../../gen/platform/findings/v1/findings_pb.ts";
import { invalid } from "../../errors.ts";
import { type Component, componentOf, unmatchedReason } from "../../matching/index.ts";
import { formatPackageUrl } from "../../package-url.ts";
import { databaseOf } from "../../resource/index.ts";
import { affectedByKey } from "../matches/affected.ts";
import { keysFor, type Match, sayingSinceMs, statementOf } from "../matches/component-matches.ts";
import { componentMessage, findingMessage, statesOf } from "./messages.ts";
import { type Resolved, resolveAll } from "./resolved.ts";

/** Errors: INVALID_ARGUMENT for a query without a package URL and without a type and a name. */
export async function queryPackages({ queries, states }: QueryPackagesRequest, context: HandlerContext) {
  const session = databaseOf(context);
  const asked = queries.map(componentAsked);
  const distinct = new Map(
    asked.flatMap((each) => (typeof each === "string" ? [] : [[each.purl + originOf(each), each]])),
  );
  const known = await affectedByKey(session, [...new Set([...distinct.values()].flatMap(keysFor))]);
  const matches = new Map<string, Match[]>();
  const reasons = new Map<string, string>();
  for (const [text, component] of distinct) {
    const said: Match[] = [];
    for (const affected of keysFor(component).flatMap((key) => known.get(key)!)) {
      const statement = statementOf(component, affected);
      if (typeof statement === "string") reasons.set(text, statement);
      else if (statement !== undefined) said.push({ ...statement, sinceMs: sayingSinceMs(component, affected) });
    }
    matches.set(text, said);
    await session.pause();
  }
  const resolved = await resolveAll(session, matches, (text) => distinct.get(text)!);
  const wanted = statesOf(states);
  return create(QueryPackagesResponseSchema, {
    results: asked.map((each) => {
      if (typeof each === "string") return create(PackageResultSchema, { unmatchedReason: each });
      const text = each.purl + originOf(each);
      const findings = resolved.get(text)!.filter(({ state }) => wanted.has(state));
      return create(PackageResultSchema, {
        component: componentMessage(each),
        findings: findings.sort(bySeverity).map((finding) => findingMessage(each, finding)),
        unmatchedReason: unmatchedReason(each) ?? reasons.get(text) ?? "",
      });
    }),
  });
}

/** The most severe first, then by id. */
export function bySeverity(a: Resolved, b: Resolved): number {
  const [x, y] = [a.vulnerability, b.vulnerability];
  return y.level - x.level || (y.score ?? -1) - (x.score ?? -1) || (x.id < y.id ? -1 : x.id > y.id ? 1 : 0);
}

function originOf({ origin, originVersion }: Component): string {
  return `\0${origin}\0${originVersion}`;
}

/** The component of a query, or the reason why there is none. */
function componentAsked(
  { purl, type, namespace, name, version, distro, origin, originVersion }: PackageQuery,
  i: number,
) {
  const details = { version, distro, origin, originVersion };
  if (purl !== "") return componentOf(purl, details);
  if (type === "" || name === "")
    throw invalid({ field: `queries[${i}]`, description: "needs a purl, or a type and a name" });
  return componentOf(formatPackageUrl({ type: type.toLowerCase(), namespace }, name), details);
}
