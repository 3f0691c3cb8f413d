/** What analyses make of findings, as plain as it can be. */
import { setTimeout as sleep } from "node:timers/promises";
import { comparePackageVersions } from "../../../src/versions/index.ts";
import type { Random } from "../../codec/random.ts";
import type { Platform } from "../platform.ts";
import { keyOf, type RawAnalysis, type RawInputs, type RawPackage } from "./inputs.ts";

/** What an analysis may be about. */
interface About {
  readonly ids: readonly string[];
  readonly component: RawPackage;
  /** The uid of the repo, and the digest. */
  readonly repo: string;
  readonly digest: string;
}

/** The analyses about a finding, the deciding one first. */
export function analysesAbout(all: Iterable<RawAnalysis>, about: About): RawAnalysis[] {
  return [...all]
    .filter((analysis) => isAbout(analysis, about))
    .sort(
      (a, b) =>
        b.group.split("/").length - a.group.split("/").length ||
        specificity(b) - specificity(a) ||
        b.updateMs - a.updateMs,
    );
}

function isAbout(analysis: RawAnalysis, { ids, component, repo, digest }: About): boolean {
  const { group, vulnerabilityId, repos, digests, package: named, version, below } = analysis;
  const { type, namespace, name } = component;
  const compared = (other: string) => comparePackageVersions(type, component.version, other)!;
  return (
    repo.startsWith(`${group}/`) &&
    ids.includes(vulnerabilityId) &&
    (repos.length === 0 || repos.includes(repo)) &&
    (digests.length === 0 || digests.includes(digest)) &&
    (named === undefined || (named.type === type && named.namespace === namespace && named.name === name)) &&
    (version === undefined || compared(version) === 0) &&
    (below === undefined || compared(below) < 0)
  );
}

function specificity({ digests, repos, version, below, package: named }: RawAnalysis): number {
  return [named, below, version, repos[0], digests[0]].findLastIndex((each) => each !== undefined);
}

/** Where analyses are made. */
interface Deciding {
  readonly random: Random;
  readonly inputs: RawInputs;
  readonly packages: readonly RawPackage[];
  readonly root: string;
  anyId(): string;
}

/** Makes an analysis, or removes one. @param digest of any image. */
export async function changeAnalyses(world: Deciding, platform: Platform, digest: string): Promise<void> {
  const { random, inputs, packages, root } = world;
  const known = [...inputs.analyses.keys()];
  await sleep(2); // the later one decides, by milliseconds
  if (known.length > 0 && random.oneIn(3)) {
    const uid = random.pick(known);
    await platform.ok("DeleteAnalysis", { uid });
    inputs.analyses.delete(uid);
    return;
  }
  const repo = random.pick(inputs.repos);
  const of = random.pick(packages);
  const state = random.pick(["AFFECTED", "UNDER_INVESTIGATION", "FIXED", "NOT_AFFECTED", "ACCEPTED"] as const);
  const isJustified = state === "NOT_AFFECTED" && random.oneIn(2);
  const named = random.pick<Partial<RawAnalysis>>([
    {},
    {},
    { package: of },
    { package: of, version: of.version },
    { package: of, below: of.version },
  ]);
  const raw = {
    group: random.pick([root, repo.group]),
    vulnerabilityId: world.anyId(),
    ...named,
    repos: random.oneIn(4) ? [repo.uid] : [],
    digests: random.oneIn(4) ? [digest] : [],
    state,
    justification: isJustified ? "COMPONENT_NOT_PRESENT" : "UNSPECIFIED",
  };
  const { vulnerabilityId, repos, digests, version, below } = raw;
  const key = keyOf(of, of.name);
  const analysis = {
    ...{
      vulnerabilityId,
      repos,
      digests,
      state: `STATE_${state}`,
      justification: `JUSTIFICATION_${raw.justification}`,
    },
    ...(raw.package !== undefined && { packageUrl: version === undefined ? key : `${key}@${version}` }),
    ...(below !== undefined && { versionRange: `vers:${of.type}/<${below}` }),
  };
  const { uid, updateTime } = await platform.ok("CreateAnalysis", { parent: raw.group, analysis });
  inputs.analyses.set(uid, { ...raw, uid, updateMs: Date.parse(updateTime) });
}
