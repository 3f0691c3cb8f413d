/**
 * A second, plain implementation of the findings of images. It recomputes every answer from the raw inputs. Only times
 * are remembered: since when an image has a component, and since when a record says something about one.
 */
import { comparePackageVersions } from "../../../src/versions/index.ts";
import { analysesAbout } from "./decisions.ts";
import { type Group, groupsOf, type Level } from "./groups.ts";
import { keyOf, purlOf, type RawInputs, type RawListed, type RawPackage, type RawRepo } from "./inputs.ts";
import { isOpen, type Statement, statementsOf, weigh } from "./statements.ts";

/** A statement, and since when it is made. */
interface Timed extends Statement {
  readonly sinceMs: number;
}

/** A vulnerability of a package. */
export interface ModelFinding {
  readonly group: Group;
  readonly component: RawPackage;
  readonly purl: string;
  readonly statements: readonly Timed[];
  readonly fixedVersion: string;
  readonly sinceMs: number;
}

/** An image with what is in it. */
export interface ModelImage {
  readonly repo: RawRepo;
  readonly digest: string;
  readonly tags: readonly string[];
  readonly isPart: boolean;
  readonly hasSbom: boolean;
  readonly platforms: number;
  /** By package URL. */
  readonly components: ReadonlyMap<string, RawListed>;
  readonly sinceMs: ReadonlyMap<string, number>;
  readonly createMs: number;
}

/** A finding in an image. */
export interface Placed extends ModelFinding {
  readonly image: ModelImage;
  readonly firstMs: number;
}

/** Which findings count. Absent members do not restrict. */
export interface ModelFilter {
  readonly vulnerabilityIds?: readonly string[];
  readonly levels?: readonly Level[];
  readonly minEpss?: number;
  readonly knownExploited?: boolean;
  readonly states?: readonly Statement["state"][];
  readonly fixStates?: readonly Statement["fixState"][];
  /** Package URLs, with a version or without. */
  readonly purls?: readonly string[];
  readonly packageNames?: readonly string[];
  readonly types?: readonly string[];
}

/** Which images count. */
export interface ModelPlace {
  readonly groups?: readonly string[];
  readonly repo?: string;
  readonly image?: { readonly repo: string; readonly digest: string };
  readonly digests?: readonly string[];
  readonly tags?: readonly string[];
  readonly onlyTagged?: boolean;
}

export class FindingsModel {
  readonly inputs: RawInputs;
  /** By repo and digest: since when there is an image, and since when it has each component. */
  readonly #images = new Map<string, { readonly createMs: number; readonly members: Map<string, number> }>();
  /** Since when each record says something about a package, without a break. */
  readonly #said = new Map<string, number>();
  readonly #components: ReadonlyMap<string, RawPackage>;

  /** @param components all that there may be. */
  constructor(inputs: RawInputs, components: readonly RawPackage[]) {
    this.inputs = inputs;
    this.#components = new Map(components.map((each) => [purlOf(each), each]));
  }

  /** Takes note of the time, after every change. */
  observe(nowMs: number): void {
    for (const repo of this.inputs.repos) {
      for (const digest of new Set([...repo.images.keys(), ...repo.lists.keys()])) {
        const name = `${repo.uid} ${digest}`;
        const known = this.#images.get(name) ?? { createMs: nowMs, members: new Map<string, number>() };
        this.#images.set(name, known);
        const now = componentsOf(repo, digest);
        for (const purl of known.members.keys()) if (!now.has(purl)) known.members.delete(purl);
        for (const purl of now.keys()) if (!known.members.has(purl)) known.members.set(purl, nowMs);
      }
      for (const name of this.#images.keys()) {
        const [uid, digest] = name.split(" ") as [string, string];
        if (uid === repo.uid && !repo.images.has(digest) && !repo.lists.has(digest)) this.#images.delete(name);
      }
    }
    const saying = new Set<string>();
    for (const component of this.#components.values())
      for (const record of this.inputs.records.values())
        for (const statement of statementsOf(record, component)) saying.add(nameOf(component, statement));
    for (const name of this.#said.keys()) if (!saying.has(name)) this.#said.delete(name);
    for (const name of saying) if (!this.#said.has(name)) this.#said.set(name, nowMs);
  }

  groups(): Group[] {
    return groupsOf(this.inputs);
  }

  /** The findings of a package, in all states. */
  findingsOf(component: RawPackage, groups: readonly Group[] = this.groups()): ModelFinding[] {
    const statements = [...this.inputs.records.values()].flatMap((record) => statementsOf(record, component));
    return groups.flatMap((group) => {
      const ids = new Set([group.id, ...group.aliases]);
      const own = statements
        .filter(({ id }) => ids.has(id))
        .map((each) => ({ ...each, sinceMs: this.#said.get(nameOf(component, each)) ?? 0 }));
      if (own.length === 0) return [];
      const { sorted, deciding, fixedVersion } = weigh(own, this.inputs);
      const sinceMs = Math.min(...own.filter(({ state }) => state === deciding.state).map((each) => each.sinceMs));
      return [{ group, component, purl: purlOf(component), statements: sorted, fixedVersion, sinceMs }];
    });
  }

  /** The findings of a package in an image where another may own its files. */
  findingsIn(
    of: RawListed,
    { repo, digest }: Pick<ModelImage, "repo" | "digest">,
    groups = this.groups(),
  ): ModelFinding[] {
    return this.#undecidedIn(of, groups).map((finding) => {
      const ids = [finding.group.id, ...finding.group.aliases];
      const about = { ids, component: of, repo: repo.uid, digest };
      const decided = analysesAbout(this.inputs.analyses.values(), about).map((analysis): Timed => {
        const { group, uid, state, justification, updateMs } = analysis;
        const { fixState } = finding.statements[0]!;
        const said = {
          state,
          justification,
          fixState,
          fixedVersion: finding.fixedVersion,
          confidence: "EXACT" as const,
        };
        return {
          ...said,
          feed: group,
          id: uid,
          kind: "analysis",
          key: "",
          parts: [],
          modifyMs: updateMs,
          sinceMs: updateMs,
        };
      });
      return { ...finding, statements: [...decided, ...finding.statements] };
    });
  }

  #undecidedIn(of: RawListed, groups: readonly Group[]): ModelFinding[] {
    const own = this.findingsOf(of, groups);
    const ofOwner = of.owner === undefined ? [] : this.findingsOf(of.owner, groups);
    return own.flatMap((finding) => {
      const said = ofOwner.find(({ group }) => group === finding.group);
      const isAbout = said?.statements.some(({ parts }) => parts.length === 0 || parts.includes(of.name));
      if (said === undefined || !isAbout || !isOpen(finding.statements[0]!)) return [finding];
      if (isOpen(said.statements[0]!)) return [];
      const statements = [...said.statements, ...finding.statements];
      return [{ ...said, component: of, purl: finding.purl, statements }];
    });
  }

  /** The digests of all images. */
  digests(): string[] {
    return this.inputs.repos.flatMap(({ images, lists }) => [...images.keys(), ...lists.keys()]);
  }

  images(place: ModelPlace = {}): ModelImage[] {
    const isNamed = place.image ?? place.digests ?? place.tags ?? place.onlyTagged;
    return this.inputs.repos.flatMap((repo) =>
      [...new Set([...repo.images.keys(), ...repo.lists.keys()])].flatMap((digest) => {
        const image = this.#imageOf(repo, digest);
        if (place.groups !== undefined && !place.groups.includes(repo.group)) return [];
        if (place.repo !== undefined && place.repo !== repo.uid) return [];
        if (place.image && (place.image.repo !== repo.uid || place.image.digest !== digest)) return [];
        if (place.digests !== undefined && !place.digests.includes(digest)) return [];
        const named = image.tags.filter((tag) => place.tags === undefined || place.tags.includes(tag));
        if ((place.tags !== undefined || place.onlyTagged) && named.length === 0) return [];
        return image.isPart && !isNamed ? [] : [image];
      }),
    );
  }

  #imageOf(repo: RawRepo, digest: string): ModelImage {
    const platforms = repo.images.get(digest) ?? [];
    const { createMs, members } = this.#images.get(`${repo.uid} ${digest}`)!;
    return {
      repo,
      digest,
      tags: [...repo.tags].flatMap(([name, of]) => (of === digest ? [name] : [])).sort(),
      isPart: [...repo.images].some(([other, parts]) => other !== digest && parts.includes(digest)),
      hasSbom: [digest, ...platforms].some((part) => repo.lists.has(part)),
      platforms: platforms.length,
      components: componentsOf(repo, digest),
      sinceMs: members,
      createMs,
    };
  }

  /** All findings in images that count. */
  findings(images: readonly ModelImage[], filter: ModelFilter = {}): Placed[] {
    const groups = this.groups();
    return images.flatMap((image) =>
      [...image.components.values()].flatMap((component) =>
        this.findingsIn(component, image, groups)
          .filter((finding) => counts(finding, filter))
          .map((finding) => {
            const firstMs = Math.max(finding.sinceMs, image.sinceMs.get(finding.purl)!);
            return { ...finding, image, firstMs };
          }),
      ),
    );
  }

  /** Images with a package, or a version of it that `isIn` holds for. */
  withPackage(images: readonly ModelImage[], key: string, isIn: (of: RawPackage) => boolean): ModelImage[] {
    return images.filter(({ components }) =>
      [...components.values()].some((each) => keyOf(each, each.name) === key && isIn(each)),
    );
  }
}

function nameOf(component: RawPackage, { feed, id, key }: Statement): string {
  return [purlOf(component), feed, id, key].join("\0");
}

/** Where not all lists have the same owner for a package, it has none. */
function componentsOf(repo: RawRepo, digest: string): Map<string, RawListed> {
  const parts = new Set([digest, ...(repo.images.get(digest) ?? [])]);
  const found = new Map<string, RawListed>();
  for (const each of [...parts].flatMap((part) => repo.lists.get(part) ?? [])) {
    const before = found.get(purlOf(each)) ?? each;
    found.set(purlOf(each), before.owner === each.owner ? each : { ...each, owner: undefined });
  }
  return found;
}

/** Whether a finding is one of those that a request asks for. */
export function counts({ group, statements, component, purl }: ModelFinding, filter: ModelFilter): boolean {
  const [{ state, fixState }] = statements as [Timed];
  const ids = [group.id, ...group.aliases];
  return (
    (filter.states === undefined ? isOpen({ state }) : filter.states.includes(state)) &&
    (filter.vulnerabilityIds === undefined || filter.vulnerabilityIds.some((id) => ids.includes(id))) &&
    (filter.levels === undefined || filter.levels.includes(group.level)) &&
    (filter.minEpss === undefined || (group.epss ?? -1) >= filter.minEpss) &&
    (filter.knownExploited === undefined || filter.knownExploited === (group.exploited !== undefined)) &&
    (filter.fixStates === undefined || filter.fixStates.includes(fixState)) &&
    isWanted(component, purl, filter)
  );
}

/** Whether a package is one of those that a request asks for. */
export function isWanted(component: RawPackage, purl: string, { purls, packageNames, types }: ModelFilter): boolean {
  const key = keyOf(component, component.name);
  return (
    (purls === undefined || purls.some((each) => each === purl || each === key)) &&
    (packageNames === undefined || packageNames.includes(component.name)) &&
    (types === undefined || types.includes(component.type))
  );
}

/** Whether a version is below another. */
export function isBelow({ type, version }: RawPackage, other: string): boolean {
  return comparePackageVersions(type, version, other)! < 0;
}
