/** Whether facts about affected versions hold for a version of their package. */
import { compareParsedVersions, type ParsedVersion, parsePackageVersion } from "../versions/index.ts";
import { ComponentKey } from "./component.ts";
import type { AffectedFact } from "./facts.ts";
import { ListedVersions } from "./listed-versions.ts";
import { isDistributionType, typeOfKey } from "./package-key.ts";
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

/** What a record says about one package: facts with one key, read once for many versions. */
export class AffectedPackage {
  readonly key: string;
  readonly #facts: readonly AffectedFact[];
  readonly #type: string;
  /** Facts for one release, by the release. */
  readonly #versions = new Map<string, AffectedVersions>();

  /** @param facts of one record about one key: any number of releases, source and binary packages. */
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
      const result = each.key === this.key ? this.#evaluate(each) : undefined;
      if (result !== undefined) return result;
    }
    return undefined;
  }

  #evaluate(of: ComponentKey): Affected | undefined {
    const facts = this.#facts.filter(({ isSource }) => isSource === undefined || isSource === of.isSource);
    const results = factsForRelease(facts, of).map((group) => this.#compile(group, of.isSource).evaluate(of));
    return results.length < 2 ? results[0] : agreement(results);
  }

  #compile(group: readonly AffectedFact[], isSource: boolean): AffectedVersions {
    const name = `${isSource} ${group[0]!.distro}`;
    const compiled = this.#versions.get(name) ?? new AffectedVersions(group, this.#type);
    this.#versions.set(name, compiled);
    return compiled;
  }
}

/** Facts that hold together: a version is affected by any of them. */
class AffectedVersions {
  readonly #listed: ListedVersions;
  readonly #ranges: readonly CompiledRange[];
  readonly #type: string;

  constructor(facts: readonly AffectedFact[], type: string) {
    this.#type = type;
    this.#listed = new ListedVersions(
      facts.flatMap(({ versions }) => versions),
      type,
    );
    this.#ranges = facts.flatMap(({ ranges }) => ranges.map((range) => new CompiledRange(range, type)));
  }

  evaluate({ version: text, parsed }: { version: string; parsed: ParsedVersion | undefined }): Affected {
    const matching: CompiledRange[] = [];
    let reason: UnmatchedReason | undefined;
    for (const range of this.#ranges) {
      const isContained = range.contains(range.read(text, this.#type, parsed));
      if (isContained === true) matching.push(range);
      else if (isContained !== false) reason ??= isContained;
    }
    if (matching.length === 0 && !this.#listed.has(text, parsed))
      return reason === undefined ? { isAffected: false } : { isAffected: undefined, reason };
    const fix = this.#fixAbove(text, parsed, matching.length === 0 ? this.#ranges : matching);
    return { isAffected: true, ...(fix !== undefined && { fixedVersion: fix.text }) };
  }

  /** The lowest fix of some ranges above a version, that no range and no list contains. */
  #fixAbove(
    text: string,
    parsed: ParsedVersion | undefined,
    ranges: readonly CompiledRange[],
  ): FixedVersion | undefined {
    let lowest: FixedVersion | undefined;
    for (const range of ranges) {
      const version = range.read(text, this.#type, parsed);
      for (const fix of version === undefined ? [] : range.fixesAbove(version)) {
        if (lowest !== undefined && compareParsedVersions(fix.version, lowest.version) >= 0) continue;
        if (!this.#isAffected(fix)) lowest = fix;
      }
    }
    return lowest;
  }

  #isAffected({ text, version }: FixedVersion): boolean {
    const parsed = parsePackageVersion(this.#type, text);
    return (
      this.#listed.has(text, parsed) ||
      this.#ranges.some(
        (range) =>
          range.contains(this.#type === version.type ? version : range.read(text, this.#type, parsed)) === true,
      )
    );
  }
}

/**
 * What facts say of one version of their package, without release.
 * @param facts of one record about one package. @param type of the package URL.
 */
export function evaluateOsv(
  facts: readonly Pick<AffectedFact, "ranges" | "versions">[],
  type: string,
  version: string,
): Affected {
  const all = facts.map(({ ranges, versions }) => ({ key: "", distro: "", ranges, versions }));
  return new AffectedVersions(all, type).evaluate(new ComponentKey("", type, version));
}

/** What is said if the release is not known: what all of its releases have in common. */
function agreement(results: readonly Affected[]): Affected {
  const [first] = results;
  if (results.some(({ isAffected }) => isAffected !== first!.isAffected))
    return { isAffected: undefined, reason: "names no release, and releases of its distribution differ" };
  if (results.every(({ fixedVersion }) => fixedVersion === first!.fixedVersion)) return first!;
  return { isAffected: first!.isAffected, ...(first!.reason !== undefined && { reason: first!.reason }) };
}
