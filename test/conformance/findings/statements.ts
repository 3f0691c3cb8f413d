/**
 * What records say about packages, and which of several decides: a second reading of the rules, as plain as it can be.
 * It shares nothing with the server but the order of versions.
 */
import { comparePackageVersions } from "../../../src/versions/index.ts";
import type { Json } from "../contract.ts";
import { keyOf, type RawClaim, type RawEvent, type RawPackage, type RawRecord } from "./inputs.ts";

/** What a record says about a package. Names are those of the contract, without their prefixes. */
export interface Statement {
  readonly feed: string;
  readonly id: string;
  readonly kind: "advisory" | "vex" | "vex-exact" | "ecosystem" | "analysis";
  readonly modifyMs: number;
  readonly state: "AFFECTED" | "UNDER_INVESTIGATION" | "FIXED" | "NOT_AFFECTED" | "ACCEPTED";
  readonly fixState: "UNSPECIFIED" | "FIXED" | "NOT_FIXED" | "WONT_FIX" | "PENDING";
  readonly fixedVersion: string;
  readonly justification: string;
  readonly confidence: "EXACT" | "ORIGIN";
  /** The package key that it is about. */
  readonly key: string;
  /** The names of the parts of the package that it is about; none if it is about all of it. */
  readonly parts: readonly string[];
}

/** A fact about the versions of one package, of an OSV record. */
interface Fact {
  readonly key: string;
  readonly release: string;
  readonly isSource: boolean | undefined;
  readonly ranges: readonly { readonly events: readonly Record<string, string>[] }[];
  readonly versions: readonly string[];
}

/** The id, the aliases and the times of a record. */
export function headOf(record: RawRecord) {
  const { id, feed } = record;
  if ("advisory" in record) {
    const { aliases, modifyMs } = record.advisory;
    return { feed, id, aliases, modifyMs, withdrawMs: undefined, summary: "", rating: undefined };
  }
  const { aliases = [], modified, withdrawn, summary = "", severity = [] } = record.osv;
  return {
    feed,
    id,
    aliases: (aliases as string[]).filter((alias) => alias !== id),
    modifyMs: Date.parse(modified),
    withdrawMs: withdrawn === undefined ? undefined : Date.parse(withdrawn),
    summary: summary as string,
    rating: severity[0]?.score as string | undefined,
  };
}

/** The statements of a record about a package: one for each package key, at most two. */
export function statementsOf(record: RawRecord, of: RawPackage): Statement[] {
  const head = headOf(record);
  if (head.withdrawMs !== undefined) return [];
  const own = { key: keyOf(of, of.name), version: of.version, isSource: false };
  const source = {
    key: keyOf(of, of.origin === "" ? of.name : of.origin),
    version: of.originVersion === "" ? of.version : of.originVersion,
    isSource: true,
  };
  const sides = of.type === "npm" ? [own] : [own, source];
  const found: Statement[] = [];
  for (const key of new Set(sides.map((side) => side.key))) {
    for (const side of sides) {
      if (side.key !== key) continue;
      const said = saidOf(record, of, side);
      if (said === undefined) continue; // nothing is about this side
      if (said !== "nothing") {
        const { feed, id, modifyMs } = head;
        found.push({ feed, id, modifyMs, key, confidence: side.isSource ? "ORIGIN" : "EXACT", ...said });
      }
      break;
    }
  }
  return found;
}

type Said = Pick<Statement, "kind" | "state" | "fixState" | "fixedVersion" | "justification" | "parts">;

interface Side {
  readonly key: string;
  readonly version: string;
  readonly isSource: boolean;
}

function saidOf(record: RawRecord, of: RawPackage, side: Side): Said | "nothing" | undefined {
  if ("advisory" in record) {
    const { name, events, kind } = record.advisory;
    if (side.key !== `pkg:apk/wolfi/${name}`) return undefined;
    return { kind, parts: events.flatMap(({ part }) => part ?? []), ...saidByEvents(events, side.version) };
  }
  const facts = factsOf(record.osv).filter(
    ({ key, release, isSource }) =>
      key === side.key &&
      (isSource === undefined || isSource === side.isSource) &&
      (release === "" || of.distro === release || of.distro.startsWith(`${release}.`)),
  );
  if (facts.length === 0) return undefined;
  const isAffected = (version: string) => facts.some((fact) => affects(fact, of.type, version));
  if (!isAffected(side.version)) return "nothing";
  const containing = facts.flatMap(({ ranges }) => ranges).filter((range) => contains(range, of.type, side.version));
  const telling = containing.length > 0 ? containing : facts.flatMap(({ ranges }) => ranges);
  const [fixedVersion = ""] = telling
    .flatMap(({ events }) => events.flatMap(({ fixed }) => fixed ?? []))
    .filter((fix) => compare(of.type, fix, side.version) > 0 && !isAffected(fix))
    .sort((a, b) => compare(of.type, a, b));
  const kind = of.type === "npm" ? "ecosystem" : "advisory";
  const fixState = fixedVersion === "" ? "UNSPECIFIED" : "FIXED";
  return { kind, state: "AFFECTED", fixState, fixedVersion, justification: "UNSPECIFIED", parts: [] };
}

export function factsOf({ affected = [] }: Json): Fact[] {
  return (affected as Json[]).map(({ package: { ecosystem, name }, ranges = [], versions = [] }) => {
    const [id, release] = ecosystem.split(":");
    if (id === "npm") return { key: `pkg:npm/${name}`, release: "", isSource: undefined, ranges, versions };
    if (id === "Wolfi") return { key: `pkg:apk/wolfi/${name}`, release: "", isSource: undefined, ranges, versions };
    return { key: `pkg:deb/debian/${name}`, release: `debian-${release}`, isSource: true, ranges, versions };
  });
}

function affects({ ranges, versions }: Fact, type: string, version: string): boolean {
  return versions.includes(version) || ranges.some((range) => contains(range, type, version));
}

/** By the algorithm of the schema of OSV. The events are in order. */
function contains({ events }: Fact["ranges"][number], type: string, version: string): boolean {
  let isIn = false;
  for (const { introduced, fixed, last_affected: last } of events) {
    if (introduced !== undefined && (introduced === "0" || compare(type, version, introduced) >= 0)) isIn = true;
    if (fixed !== undefined && compare(type, version, fixed) >= 0) isIn = false;
    if (last !== undefined && compare(type, version, last) > 0) isIn = false;
  }
  return isIn;
}

const justifications: Readonly<Record<string, string>> = {
  VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE: "VULNERABLE_CODE_NOT_PRESENT",
  INLINE_MITIGATIONS_EXIST: "INLINE_MITIGATIONS_ALREADY_EXIST",
};

/** The newest event decides; no two have the same time. */
function saidByEvents(events: readonly RawEvent[], version: string): Omit<Said, "kind" | "parts"> {
  const newest = events.reduce((a, b) => (b.timeMs > a.timeMs ? b : a));
  const plain = { fixedVersion: "", justification: "UNSPECIFIED", fixState: "UNSPECIFIED" } as const;
  switch (newest.kind) {
    case "DETECTION":
      return { ...plain, state: "UNDER_INVESTIGATION" };
    case "TRUE_POSITIVE":
      return { ...plain, state: "AFFECTED", fixState: "NOT_FIXED" };
    case "PENDING_UPSTREAM":
      return { ...plain, state: "AFFECTED", fixState: "PENDING" };
    case "FIX_NOT_PLANNED":
      return { ...plain, state: "AFFECTED", fixState: "WONT_FIX" };
    case "FALSE_POSITIVE":
      return { ...plain, state: "NOT_AFFECTED", justification: justifications[newest.justification!]! };
    case "FIXED": {
      const fixedVersion = newest.fixedVersion!;
      if (fixedVersion === "0") return { ...plain, state: "NOT_AFFECTED" };
      const state = compare("apk", version, fixedVersion) < 0 ? "AFFECTED" : "FIXED";
      return { ...plain, state, fixState: "FIXED", fixedVersion };
    }
  }
}

/** What decides between statements. */
export interface Weights {
  readonly claims: ReadonlyMap<string, readonly RawClaim[]>;
  readonly feedOrder: readonly string[];
}

/** The statements about one vulnerability of one package, the deciding one first, and the fixed version that counts. */
export function weigh<T extends Statement>(statements: readonly T[], { claims, feedOrder }: Weights) {
  const coverage = ({ feed, key }: Statement) => coverageOf(claims.get(feed) ?? [], key);
  const rank = (statement: Statement) => {
    if (statement.kind === "vex-exact") return 2;
    if (statement.kind === "vex") return 3;
    if (coverage(statement) === "COMPLETE") return 4;
    if (coverage(statement) === undefined) return 5;
    return isOpen(statement) ? 6 : 4;
  };
  const place = ({ feed }: Statement) => (feedOrder.includes(feed) ? feedOrder.indexOf(feed) : feedOrder.length);
  const text = ({ feed, state, fixState, fixedVersion, id, confidence }: Statement) =>
    JSON.stringify([feed, state, fixState === "UNSPECIFIED" ? "UNKNOWN" : fixState, fixedVersion, id, confidence]);
  const sorted = [...statements].sort(
    (a, b) => rank(a) - rank(b) || b.modifyMs - a.modifyMs || place(a) - place(b) || (text(a) < text(b) ? -1 : 1),
  );
  const deciding = sorted[0]!;
  return { sorted, deciding, fixedVersion: fixOf(deciding, sorted, coverage) };
}

function fixOf(deciding: Statement, sorted: readonly Statement[], coverage: (of: Statement) => string | undefined) {
  if (!isOpen(deciding)) return deciding.fixedVersion;
  const open = sorted.filter(isOpen);
  const isGeneral = !deciding.kind.startsWith("vex") && coverage(deciding) === undefined;
  const ofDistributions = open.filter((each) => coverage(each) === "FIXES_ONLY");
  const all = [...(isGeneral ? [] : [deciding]), ...ofDistributions, ...open];
  return all.map(({ fixedVersion }) => fixedVersion).find((version) => version !== "") ?? "";
}

/** The narrowest pattern that holds. */
function coverageOf(claims: readonly RawClaim[], key: string): RawClaim["coverage"] | undefined {
  const exact = claims.find(({ pattern }) => pattern === key);
  const prefixes = claims.filter(({ pattern }) => pattern.endsWith("*") && key.startsWith(pattern.slice(0, -1)));
  return (exact ?? prefixes.sort((a, b) => b.pattern.length - a.pattern.length)[0])?.coverage;
}

export function isOpen({ state }: Pick<Statement, "state">): boolean {
  return state === "AFFECTED" || state === "UNDER_INVESTIGATION";
}

function compare(type: string, a: string, b: string): number {
  return comparePackageVersions(type, a, b)!;
}
