/** Whether facts about affected versions hold for a version of their package. */
import { compareParsedVersions, type ParsedVersion, parsePackageVersion } from "../versions/index.ts";
import type { ComponentKey } from "./component.ts";
import type { AffectedFact } from "./facts.ts";
import { ListedVersions } from "./listed-versions.ts";
import { typeOfKey } from "./package-key.ts";
import { CompiledRange, type FixedVersion } from "./ranges.ts";
import type { UnmatchedReason } from "./reasons.ts";
import { factsForRelease } from "./releases.ts";

/** What facts say of a version. */
export interface Affected {
  /** Undefined if it is not known. */
  readonly isAffected: boolean | undefined;
  /** The lowest version above that has the fix and is not affected itself; absent if none is known. */
  readonly fixedVersion?: string;
  /** Why it is not known. */
  readonly reason?: UnmatchedReason;
}

/** The most releases that facts stay compiled for: queries may name any. */
const maxReleases = 64;

/**
 * What a feed says of one vulnerability in one package: facts with one key, read once for many versions. Where a feed
 * has a record for each release, the facts of all of them belong together: what is said of a component that names no
 * release depends on all.
 */
export class AffectedPackage {
  readonly key: string;
  readonly #facts: readonly AffectedFact[];
  readonly #type: string;
  /** The facts for each release that a component may be of, by its `release`; those that hold together are one. */
  readonly #byRelease = new Map<string, readonly AffectedVersions[]>();

  /** @param facts with one key, about any releases, about source packages and others. */
  constructor(facts: readonly AffectedFact[]) {
    this.key = facts[0]?.key ?? "";
    this.#type = typeOfKey(this.key);
    this.#facts = facts;
  }

  /**
   * What the facts say of a component; undefined if none is about it. If they are about the package and its source
   * package, the package itself counts.
   * @param keys of the component.
   */
  evaluate(keys: readonly ComponentKey[]): Affected | undefined {
    for (const each of keys) {
      if (each.key !== this.key) continue;
      const groups = this.#groupsFor(each);
      if (groups.length === 1) return groups[0]!.evaluate(each);
      if (groups.length > 1) return agreement(groups.map((group) => group.evaluate(each)));
    }
    return undefined;
  }

  #groupsFor(of: ComponentKey): readonly AffectedVersions[] {
    const known = this.#byRelease.get(of.release);
    if (known !== undefined) return known;
    const facts = this.#facts.filter(({ isSource }) => isSource === undefined || isSource === of.isSource);
    const groups = factsForRelease(facts, of).map((group) => new AffectedVersions(group, this.#type));
    if (this.#byRelease.size >= maxReleases) this.#byRelease.clear();
    this.#byRelease.set(of.release, groups);
    return groups;
  }
}

/** Facts that hold together: a version is affected by any of them. */
class AffectedVersions {
  readonly #listed: readonly ListedVersions[];
  readonly #ranges: readonly CompiledRange[];
  readonly #type: string;

  constructor(facts: readonly Pick<AffectedFact, "ranges" | "versions">[], type: string) {
    this.#type = type;
    const listed: ListedVersions[] = [];
    const compiled: CompiledRange[] = [];
    for (const { ranges, versions } of facts) {
      if (versions.length > 0) listed.push(new ListedVersions(versions, type));
      for (const range of ranges) compiled.push(new CompiledRange(range, type));
    }
    this.#listed = listed;
    this.#ranges = compiled;
  }

  evaluate({ version: text, parsed }: Pick<ComponentKey, "version" | "parsed">): Affected {
    let isInRange = false;
    let reason: UnmatchedReason | undefined;
    let fix: FixedVersion | undefined;
    for (const range of this.#ranges) {
      const version = range.read(text, this.#type, parsed);
      const isContained = range.contains(version);
      if (isContained === true) {
        isInRange = true;
        fix = lower(fix, version && range.lowestFix(version, this));
      } else if (isContained !== false) reason ??= isContained;
    }
    if (!isInRange) {
      if (!this.#isListed(text, parsed)) return reason === undefined ? notAffected : { isAffected: undefined, reason };
      for (const range of this.#ranges) {
        const version = range.read(text, this.#type, parsed);
        fix = lower(fix, version && range.lowestFix(version, this));
      }
    }
    return fix === undefined ? { isAffected: true } : { isAffected: true, fixedVersion: fix.text };
  }

  isAffected({ text, version }: FixedVersion): boolean {
    const parsed = version.type === this.#type ? version : parsePackageVersion(this.#type, text);
    return (
      this.#ranges.some((range) => range.contains(range.read(text, this.#type, parsed)) === true) ||
      this.#isListed(text, parsed)
    );
  }

  #isListed(text: string, parsed: ParsedVersion | undefined): boolean {
    return this.#listed.some((list) => list.has(text, parsed));
  }
}

function lower(a: FixedVersion | undefined, b: FixedVersion | undefined): FixedVersion | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareParsedVersions(b.version, a.version) < 0 ? b : a;
}

const notAffected: Affected = { isAffected: false };

/**
 * What facts say of one version of their package, without release.
 * @param facts of one record about one package. @param type of the package URL.
 */
export function evaluateOsv(
  facts: readonly Pick<AffectedFact, "ranges" | "versions">[],
  type: string,
  version: string,
): Affected {
  return new AffectedVersions(facts, type).evaluate({ version, parsed: parsePackageVersion(type, version) });
}

/** What is said if the release is not known: what all of its releases have in common. */
function agreement(results: readonly Affected[]): Affected {
  const [first] = results;
  if (results.some(({ isAffected }) => isAffected !== first!.isAffected))
    return { isAffected: undefined, reason: "names no release, and releases of its distribution differ" };
  if (results.every(({ fixedVersion }) => fixedVersion === first!.fixedVersion)) return first!;
  return { isAffected: first!.isAffected, ...(first!.reason !== undefined && { reason: first!.reason }) };
}
