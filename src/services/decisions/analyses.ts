/**
 * Analyses: decisions of groups about findings in the images below them. Two settings change with them, one of all and
 * one of the organisation, so that what is remembered of them is read again.
 */
import { randomBytes } from "node:crypto";
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
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { covers, rootOf } from "../../uid.ts";
import { groups } from "../iam/groups.ts";
import type { Decision } from "./decision.ts";
import { PackageRange } from "./package-range.ts";

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
    await changeRevision(transactionOf(context), parent);
  },
  async checkRemoval({ parent }, context) {
    await changeRevision(transactionOf(context), parent);
  },
});

function sameTime(a: Analysis["expireTime"], b: NonNullable<Analysis["expireTime"]>): boolean {
  return a !== undefined && a.seconds === b.seconds && a.nanos === b.nanos;
}

const setting = "analyses_revision";

async function changeRevision(session: WriteSession, group: string): Promise<void> {
  await session.putSetting(setting, randomBytes(8));
  await session.putSetting(`${setting} ${rootOf(group)}`, randomBytes(8));
}

/** Changes with every analysis, or with those of an organisation; "" before the first one. */
export async function analysesRevision(session: ReadSession, organisation?: string): Promise<string> {
  const bytes = await session.setting(organisation === undefined ? setting : `${setting} ${organisation}`);
  return Buffer.from(bytes ?? []).toString("hex");
}

/** The rows that are read at once. */
const portion = 500;

/** What all groups of an organisation have decided, expired decisions among them. */
export async function decisionsOf(session: ReadSession, organisation: string): Promise<Decision[]> {
  const found: Decision[] = [];
  const within = [{ root: organisation, self: true }];
  for await (const rows of session.pages(analyses.table, { within, limit: portion }))
    found.push(...rows.map(decisionOf));
  return found;
}

/** What any group has decided about vulnerabilities with one of these ids, expired decisions among them. */
export async function decisionsAboutIds(session: ReadSession, ids: readonly string[]): Promise<Decision[]> {
  if (ids.length === 0) return [];
  const found: Decision[] = [];
  const where = [{ column: "vulnerability_id", in: ids }];
  for await (const rows of session.pages(analyses.table, { where, limit: portion }))
    found.push(...rows.map(decisionOf));
  return found;
}

/** What a row says. */
export function decisionOf(row: Row): Decision {
  return decisionBy(messageOf(analyses, row), row);
}

/** What an analysis decides that has this row, or gets it. */
export function decisionBy(
  analysis: Analysis,
  { uid, parent, updateTimeUs }: Pick<Row, "uid" | "parent" | "updateTimeUs">,
): Decision {
  const { vulnerabilityId, packageUrl, versionRange, repos, digests, state, justification, expireTime } = analysis;
  const packages = PackageRange.read(packageUrl, versionRange);
  return {
    key: `${uid} ${updateTimeUs}`,
    uid,
    group: parent,
    vulnerabilityId,
    packages: packages instanceof PackageRange ? packages : undefined,
    repos: new Set(repos),
    digests: new Set(digests),
    state: Finding_StateSchema.value[state]!.localName as FindingState,
    justification:
      justification === Finding_Justification.UNSPECIFIED
        ? ""
        : Finding_JustificationSchema.value[justification]!.localName,
    untilMs: expireTime && timestampMs(expireTime),
    updateMs: Math.floor(updateTimeUs / 1000),
  };
}
