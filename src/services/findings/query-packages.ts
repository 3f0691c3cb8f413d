/** QueryPackages: what is known about packages that need not be in any image. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type PackageQuery,
  type PackageResult,
  PackageResultSchema,
  type QueryPackagesRequest,
  QueryPackagesResponseSchema,
} from "../../../gen/platform/findings/v1/findings_pb.ts";
import { invalid } from "../../errors.ts";
import {
  type Component,
  componentKeys,
  componentOf,
  type FindingState,
  type UnmatchedReason,
  unmatchedReason,
} from "../../matching/index.ts";
import { formatPackageUrl } from "../../package-url.ts";
import { databaseOf } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { affectedByKey } from "../matches/affected.ts";
import { type Match, saidOf, sayingSinceMs, statementOf } from "../matches/component-matches.ts";
import { componentId } from "../matches/components.ts";
import type { Generation } from "./known/components.ts";
import { type Resolved, resolveAll } from "./known/resolved.ts";
import { componentMessage, findingMessage, statesOf } from "./messages.ts";

/**
 * Errors: INVALID_ARGUMENT for a query without a package URL and without a type and a name.
 * @param known what is remembered of components in images.
 */
export async function queryPackages(
  { queries, states }: QueryPackagesRequest,
  known: Generation,
  context: HandlerContext,
) {
  const session = databaseOf(context);
  const asked = queries.map(componentAsked);
  const components = new Map(asked.flatMap((each) => (typeof each === "string" ? [] : [[nameOf(each), each]])));
  const wanted = statesOf(states);
  const results = new Map<string, PackageResult>();
  // In portions, so that what is read for one is gone before the next.
  for (const some of portionsOf([...components])) {
    const remembered = await rememberedOf(session, known, some);
    const others = new Map(some.filter(([name]) => !remembered.has(name)));
    const computed = others.size === 0 ? new Map<string, Said>() : await compute(session, others);
    for (const [name, component] of some) {
      results.set(name, resultOf(component, remembered.get(name) ?? computed.get(name)!, wanted));
      await session.pause();
    }
  }
  return create(QueryPackagesResponseSchema, {
    results: asked.map((each) =>
      typeof each === "string" ? create(PackageResultSchema, { unmatchedReason: each }) : results.get(nameOf(each))!,
    ),
  });
}

/** The components that are answered at once. */
const portion = 100;

function portionsOf<T>(items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / portion) }, (_, i) =>
    items.slice(i * portion, (i + 1) * portion),
  );
}

/** What is known about a component. */
interface Said {
  readonly findings: readonly Resolved[];
  /** Why it is not known whether there are more. */
  readonly reason: UnmatchedReason | undefined;
}

function resultOf(asked: Component, { findings, reason }: Said, wanted: ReadonlySet<FindingState>): PackageResult {
  const component = componentMessage(asked);
  const shown = findings.filter(({ state }) => wanted.has(state)).sort(bySeverity);
  return create(PackageResultSchema, {
    component,
    findings: shown.map((finding) => findingMessage(component, finding)),
    unmatchedReason: unmatchedReason(asked) ?? reason ?? "",
  });
}

/** What is remembered of those components that images contain, by their names. */
async function rememberedOf(
  session: ReadSession,
  known: Generation,
  components: readonly (readonly [name: string, component: Component])[],
): Promise<ReadonlyMap<string, Said>> {
  const numbers = new Map(
    components.flatMap(([name, { purl }]) => {
      const number = known.knownNumber(componentId(purl));
      return number === undefined ? [] : [[name, number]];
    }),
  );
  await known.load(session, numbers.values());
  const found = new Map<string, Said>();
  for (const [name, component] of components) {
    const number = numbers.get(name);
    // What an image says of the package beside its package URL may differ from what is asked.
    if (number === undefined || nameOf(known.component(number)) !== nameOf(component)) continue;
    found.set(name, { findings: known.findings(number), reason: known.reason(number) });
  }
  return found;
}

/** What is known about components that need not be in any image, by their names. */
async function compute(
  session: ReadSession,
  components: ReadonlyMap<string, Component>,
): Promise<ReadonlyMap<string, Said>> {
  const keysOf = new Map([...components].map(([name, component]) => [name, componentKeys(component)]));
  const keys = [...keysOf.values()].flatMap((some) => some.map(({ key }) => key));
  const affectedOf = await affectedByKey(session, new Set(keys));
  const matches = new Map<string, Match[]>();
  const reasons = new Map<string, UnmatchedReason>();
  for (const [name, some] of keysOf) {
    const said: Match[] = [];
    for (const affected of saidOf(some, affectedOf)) {
      const statement = statementOf(some, affected);
      if (typeof statement === "string") reasons.set(name, statement);
      else if (statement !== undefined) said.push({ ...statement, sinceMs: sayingSinceMs(some, affected) });
    }
    matches.set(name, said);
    await session.pause();
  }
  const findings = await resolveAll(session, matches, (name) => components.get(name)!);
  return new Map([...findings].map(([name, all]) => [name, { findings: all, reason: reasons.get(name) }]));
}

/** What a component is known by: the package URL, and the source package that may be named beside it. */
function nameOf({ purl, origin, originVersion }: Component): string {
  return `${purl}\0${origin}\0${originVersion}`;
}

/** The most severe first, then by id. */
export function bySeverity(a: Resolved, b: Resolved): number {
  const [x, y] = [a.vulnerability, b.vulnerability];
  return y.level - x.level || (y.score ?? -1) - (x.score ?? -1) || (x.id < y.id ? -1 : x.id > y.id ? 1 : 0);
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
