/** Findings and components as messages of the contract. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AssertionSchema,
  type Component as ComponentMessage,
  ComponentSchema,
  type Finding,
  Finding_Confidence,
  Finding_FixState,
  Finding_Justification,
  Finding_State,
  FindingSchema,
} from "../../../gen/platform/findings/v1/findings_pb.ts";
import { type Component, type FindingState, type FixState, isOpen } from "../../matching/index.ts";
import type { Match } from "../matches/component-matches.ts";
import type { Resolved } from "./known/resolved.ts";

/** Where a finding is. */
export interface FindingPlace {
  readonly repo: string;
  readonly digest: string;
  readonly tags: readonly string[];
  /** Since when the image is known to have the component, in milliseconds since 1970. */
  readonly sinceMs: number;
}

export const allStates: readonly FindingState[] = [
  "AFFECTED",
  "UNDER_INVESTIGATION",
  "FIXED",
  "NOT_AFFECTED",
  "ACCEPTED",
];

/** The states that a request asks for; those that are open where it names none. */
export function statesOf(given: readonly Finding_State[]): ReadonlySet<FindingState> {
  const named = given.filter((state) => state !== Finding_State.UNSPECIFIED);
  return new Set(
    allStates.filter((state) => (named.length === 0 ? isOpen({ state }) : named.includes(Finding_State[state]))),
  );
}

/** @param place absent for a package without an image. */
export function findingMessage(
  component: ComponentMessage,
  { vulnerability, statements, sinceMs, fixedVersion }: Resolved,
  place?: FindingPlace,
): Finding {
  const [deciding] = statements;
  const { id, aliases, level, score, epss, knownExploited } = vulnerability;
  const { fixState, justification, state } = deciding!.match;
  return create(FindingSchema, {
    ...(place && { repo: place.repo, digest: place.digest, tags: [...place.tags] }),
    component,
    vulnerabilityId: id,
    aliases: [...aliases],
    ...saying({ state, fixState, justification }),
    fixedVersion,
    level,
    ...(score !== undefined && { score }),
    ...(epss !== undefined && { epss }),
    knownExploited,
    firstSeen: timestampFromMs(Math.max(sinceMs, place?.sinceMs ?? 0)),
    confidence: confidenceOf(deciding!.match),
    assertions: statements.map(({ match, reason }) =>
      create(AssertionSchema, {
        source: match.feed,
        id: match.id,
        ...saying(match),
        fixedVersion: match.fixedVersion,
        confidence: confidenceOf(match),
        since: timestampFromMs(match.sinceMs),
        reason,
      }),
    ),
  });
}

export function componentMessage(component: Component & { readonly licenses?: readonly string[] }) {
  const { purl, type, namespace, name, version, distro, origin, originVersion, licenses = [] } = component;
  const parts = { purl, type, namespace, name, version, distro, origin, originVersion };
  return create(ComponentSchema, { ...parts, licenses: [...licenses] });
}

function saying({ state, fixState, justification }: Pick<Match, "state" | "fixState" | "justification">) {
  return {
    state: Finding_State[state],
    fixState: fixStates[fixState],
    justification: justificationOf(justification),
  };
}

/** The states of fixes that a request asks for. */
export function fixStatesOf(given: readonly Finding_FixState[]): ReadonlySet<FixState> {
  const all = Object.entries(fixStates) as [FixState, Finding_FixState][];
  return new Set(all.flatMap(([state, named]) => (given.includes(named) ? [state] : [])));
}

/** States of fixes as the contract has them. */
const fixStates: Readonly<Record<FixState, Finding_FixState>> = {
  ANALYSIS_NOT_PLANNED: Finding_FixState.UNSPECIFIED,
  UNKNOWN: Finding_FixState.UNSPECIFIED,
  FIXED: Finding_FixState.FIXED,
  NOT_FIXED: Finding_FixState.NOT_FIXED,
  WONT_FIX: Finding_FixState.WONT_FIX,
  PENDING: Finding_FixState.PENDING,
};

/** The kinds of false positives of advisories (`FalsePositiveDetermination.Type`) as justifications of VEX. */
const justifications: Readonly<Record<string, Finding_Justification>> = {
  COMPONENT_VULNERABILITY_MISMATCH: Finding_Justification.COMPONENT_NOT_PRESENT,
  VULNERABLE_CODE_VERSION_NOT_USED: Finding_Justification.VULNERABLE_CODE_NOT_PRESENT,
  VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE: Finding_Justification.VULNERABLE_CODE_NOT_PRESENT,
  VULNERABLE_CODE_NOT_IN_EXECUTION_PATH: Finding_Justification.VULNERABLE_CODE_NOT_IN_EXECUTE_PATH,
  VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY:
    Finding_Justification.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY,
  INLINE_MITIGATIONS_EXIST: Finding_Justification.INLINE_MITIGATIONS_ALREADY_EXIST,
};

function justificationOf(text: string): Finding_Justification {
  return (
    justifications[text] ??
    Finding_Justification[text as keyof typeof Finding_Justification] ??
    Finding_Justification.UNSPECIFIED
  );
}

function confidenceOf({ isOfOrigin }: Pick<Match, "isOfOrigin">): Finding_Confidence {
  return isOfOrigin ? Finding_Confidence.ORIGIN : Finding_Confidence.EXACT;
}
