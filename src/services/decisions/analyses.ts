/** Analyses: decisions of groups about findings in the images below them. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Analysis,
  AnalysisSchema,
  ListAnalysesRequestSchema,
} from "../../../gen/platform/findings/v1/analyses_pb.ts";
import {
  Finding_Justification,
  Finding_JustificationSchema,
  Finding_State,
  Finding_StateSchema,
} from "../../../gen/platform/findings/v1/findings_pb.ts";
import { invalid } from "../../errors.ts";
import type { FindingState } from "../../matching/index.ts";
import { defineResource, environmentOf, equalTo, messageOf, transactionOf } from "../../resource/index.ts";
import type { ReadSession, Row, Selection } from "../../store/index.ts";
import { covers } from "../../uid.ts";
import { groups } from "../iam/groups.ts";
import type { Decision, Said } from "./decision.ts";
import { PackageRange } from "./package-range.ts";
import { changeDecisions } from "./revision.ts";

export const analyses = defineResource({
  schema: AnalysisSchema,
  list: ListAnalysesRequestSchema,
  parent: groups,
  onParentDelete: "cascade",
  columns: { vulnerability_id: { text: ({ vulnerabilityId }) => vulnerabilityId } },
  filters: { vulnerabilityId: equalTo("vulnerability_id") },
  async check({ parent, before, after }, context) {
    after.changedFindingCount = undefined;
    const { packageUrl, versionRange, state, justification, repos, expireTime } = after;
    const packages = PackageRange.read(packageUrl, versionRange);
    if (packages !== undefined && "problem" in packages)
      throw invalid({ field: packages.field, description: packages.problem });
    if (justification !== Finding_Justification.UNSPECIFIED && state !== Finding_State.NOT_AFFECTED)
      throw invalid({ field: "justification", description: "goes only with STATE_NOT_AFFECTED" });
    const at = repos.findIndex((repo) => !covers(parent, repo) || repo === parent);
    if (at >= 0) throw invalid({ field: `repos[${at}]`, description: "is not below the group of the analysis" });
    const isNewExpiry = expireTime !== undefined && !sameTime(before?.expireTime, expireTime);
    if (isNewExpiry && timestampMs(expireTime) <= environmentOf(context).nowMs)
      throw invalid({ field: "expire_time", description: "is not in the future" });
    await changeDecisions(transactionOf(context), parent);
  },
  async checkRemoval({ parent }, context) {
    await changeDecisions(transactionOf(context), parent);
  },
});

function sameTime(a: Analysis["expireTime"], b: NonNullable<Analysis["expireTime"]>): boolean {
  return a !== undefined && a.seconds === b.seconds && a.nanos === b.nanos;
}

/** The rows that are read at once. */
const portion = 500;

/** The analyses of all groups of an organisation, expired ones among them. */
export function analysesBelow(session: ReadSession, organisation: string): Promise<Decision[]> {
  return decisionsIn(session, { within: [{ root: organisation, self: true }] });
}

/** What any group has decided about vulnerabilities with one of these ids, expired decisions among them. */
export async function decisionsAboutIds(session: ReadSession, ids: readonly string[]): Promise<Decision[]> {
  return ids.length === 0 ? [] : decisionsIn(session, { where: [{ column: "vulnerability_id", in: ids }] });
}

async function decisionsIn(session: ReadSession, selection: Selection): Promise<Decision[]> {
  const found: Decision[] = [];
  for await (const rows of session.pages(analyses.table, { ...selection, limit: portion }))
    found.push(...rows.map(decisionOf));
  return found;
}

/** What the analysis of a row decides. */
export function decisionOf(row: Row): Decision {
  const { uid, parent, updateTimeUs } = row;
  const analysis = messageOf(analyses, row);
  const { vulnerabilityId, packageUrl, versionRange, repos, digests, state, justification, expireTime } = analysis;
  const packages = PackageRange.read(packageUrl, versionRange);
  const said: Said = {
    state: Finding_StateSchema.value[state]!.localName as FindingState,
    justification:
      justification === Finding_Justification.UNSPECIFIED
        ? ""
        : Finding_JustificationSchema.value[justification]!.localName,
    fixState: "UNKNOWN",
    fixedVersion: "",
  };
  return {
    kind: "analysis",
    key: `${uid} ${updateTimeUs}`,
    uid,
    group: parent,
    ids: [vulnerabilityId],
    packages: packages instanceof PackageRange ? packages : undefined,
    repos: new Set(repos),
    digests: new Set(digests),
    untilMs: expireTime && timestampMs(expireTime),
    timeMs: Math.floor(updateTimeUs / 1000),
    say: () => said,
  };
}
