/** The packages of a bill of materials of any format. */
import { sourceOf } from "../../../matching/index.ts";
import {
  isImageType,
  normalName,
  type PackageKind,
  type PackageUrl,
  packageKind,
  packageName,
  packageVersion,
  parsePackageUrl,
} from "../../../package-url.ts";
import { FeedRefusal } from "../../source/refusal.ts";

/** A package of a bill of materials. What is optional is absent where the document does not have it. */
export interface ListedPackage extends PackageKind {
  /** As written in its ecosystem: `openssl`, `@scope/name`, `group:artifact`. */
  readonly name: string;
  readonly version: string;
  /** "" if unknown. */
  readonly architecture: string;
  /** The source package; "" if unknown. */
  readonly origin: string;
  /** Version of the source package; "" if it is that of the package. */
  readonly originVersion: string;
  /** The package URL as the document has it. */
  readonly purl?: string | undefined;
  /** SPDX expressions where the document has them, else names; sorted, at most {@link maxTexts}. */
  readonly licenses?: readonly string[] | undefined;
  /** Paths of the files by which it was found; sorted, at most {@link maxTexts}. */
  readonly locations?: readonly string[] | undefined;
  /** The digest of the layer that it came with: that of the blob, or of its content. */
  readonly layer?: string | undefined;
  /** The package URL of the package that owns its files. */
  readonly owner?: string | undefined;
}

/** A package that nothing can be known about. */
export interface UnmatchedPackage {
  readonly name: string;
  /** "" if it has none. */
  readonly version: string;
  readonly purl?: string | undefined;
  readonly reason: "has no version" | "has no type";
}

/** Values of the format's own fields, used where the package URL has none. */
export interface ListedFields {
  readonly name: string;
  readonly version?: string | undefined;
  readonly type?: string | undefined;
  readonly architecture?: string | undefined;
  readonly origin?: string | undefined;
  readonly originVersion?: string | undefined;
  readonly upstream?: string | undefined;
  readonly licenses?: readonly string[];
  readonly locations?: readonly string[];
  readonly layer?: string | undefined;
  readonly owner?: string | undefined;
}

/** Limit of packages in a list. */
export const maxPackages = 100_000;

/** Limit of licences and of locations of one package. */
export const maxTexts = 100;

/** Limit of the package URLs of owners together, in UTF-16 units: an owner is repeated for all that it owns. */
const maxOwnerLength = 16 * 1024 * 1024;

/** Limit of dependencies in a list. */
const maxDependencies = 1_000_000;

/** What a bill of materials says. */
export interface Sbom {
  /** `CycloneDX 1.6`. */
  readonly format: string;
  /** Sorted and without duplicates, so that they do not depend on the order of the document. */
  readonly packages: readonly ListedPackage[];
  /** Sorted and without duplicates. Those without a type are in `packages`, too. */
  readonly unmatched: readonly UnmatchedPackage[];
  /** Which package depends on which, by their indexes in `packages`; sorted. */
  readonly dependencies: readonly (readonly [dependent: number, dependency: number])[];
  /** Count of packages without a version, which are left out. */
  readonly unversioned: number;
}

/** A package while its document is read. */
class Entry {
  readonly licenses = new Set<string>();
  readonly locations = new Set<string>();
  /** Files that it contains: for some tools those by which it was found, for others all of it. */
  readonly contained = new Set<string>();
  readonly identity: ListedPackage;
  purl: string | undefined;
  layer: string | undefined;
  /** That of a file by which it was found, used where the document does not say it of the package. */
  layerOfFile: string | undefined;
  owner: string | undefined;

  constructor(identity: ListedPackage) {
    this.identity = identity;
  }

  add(purl: string | undefined, { licenses = [], locations = [], layer, owner }: ListedFields): void {
    // The first by order, so that the list does not depend on that of the document.
    this.purl = firstOf(this.purl, purl);
    this.layer = firstOf(this.layer, layer);
    this.owner = firstOf(this.owner, owner);
    for (const license of licenses) this.licenses.add(license);
    for (const location of locations) this.locations.add(location);
  }

  toPackage(): ListedPackage {
    const layer = this.layer ?? this.layerOfFile;
    const locations = this.locations.size > 0 ? this.locations : this.contained;
    return {
      ...this.identity,
      ...(this.purl !== undefined && { purl: this.purl }),
      ...(this.licenses.size > 0 && { licenses: firstTexts(this.licenses) }),
      ...(locations.size > 0 && { locations: firstTexts(locations) }),
      ...(layer !== undefined && { layer }),
      ...(this.owner !== undefined && { owner: this.owner }),
    };
  }
}

/** Collects the packages of a document. Relations are by the ids that the document has for its packages. */
export class PackageList {
  readonly #entries = new Map<string, Entry>();
  readonly #unmatched = new Map<string, UnmatchedPackage>();
  readonly #ofIds = new Map<string, Entry>();
  readonly #dependencies = new Map<Entry, Set<Entry>>();
  #unversioned = 0;
  #dependencyCount = 0;
  #ownerLength = 0;

  /**
   * Adds a package by its URL and fields. The image itself is not added. Errors: FeedRefusal for too many packages.
   * @param id by which relations name it.
   */
  add(purl: string | undefined, fields: ListedFields, id?: string): void {
    const url = purl === undefined ? undefined : parsePackageUrl(purl);
    const name = url === undefined ? fields.name : nameOf(url, fields.name);
    if (!name || (url !== undefined && isImageType(url.type))) return;
    const version = url === undefined ? fields.version : versionOf(url, fields.version);
    if (!version) {
      this.#unversioned += 1;
      this.#addUnmatched({ name, version: "", purl, reason: "has no version" });
      return;
    }
    const upstream = sourceOf(url?.qualifiers.get("upstream") || fields.upstream, version);
    const identity = {
      name,
      version,
      ...(url === undefined ? { type: fields.type ?? "" } : packageKind(url)),
      architecture: url?.qualifiers.get("arch") ?? fields.architecture ?? "",
      origin: url?.qualifiers.get("origin") ?? (upstream.origin || (fields.origin ?? "")),
      originVersion: upstream.originVersion || (fields.originVersion ?? ""),
    };
    if (identity.type === "") this.#addUnmatched({ name, version, purl, reason: "has no type" });
    const key = JSON.stringify(Object.values(identity));
    const entry = this.#entries.get(key) ?? new Entry(identity);
    this.#entries.set(key, entry);
    entry.add(purl, fields);
    if (id !== undefined) this.#ofIds.set(id, entry);
    if (this.#entries.size > maxPackages) throw new FeedRefusal(`has more than ${maxPackages} packages`);
  }

  /** Whether a package has this id. */
  has(id: string): boolean {
    return this.#ofIds.has(id);
  }

  /** Says that one package depends on another. What is no package is left out. Errors: FeedRefusal for too many. */
  addDependency(dependentId: string, dependencyId: string): void {
    const [dependent, dependency] = [this.#ofIds.get(dependentId), this.#ofIds.get(dependencyId)];
    if (dependent === undefined || dependency === undefined || dependent === dependency) return;
    const all = this.#dependencies.get(dependent) ?? new Set();
    this.#dependencies.set(dependent, all);
    if (all.has(dependency)) return;
    all.add(dependency);
    if (++this.#dependencyCount > maxDependencies)
      throw new FeedRefusal(`has more than ${maxDependencies} dependencies`);
  }

  /** Says which package owns the files of another. Errors: FeedRefusal if the names of owners are too long. */
  addOwner(ownerId: string, ownedId: string): void {
    const [owner, owned] = [this.#ofIds.get(ownerId), this.#ofIds.get(ownedId)];
    if (owner?.purl === undefined || owned === undefined || owner === owned) return;
    this.#ownerLength += owner.purl.length;
    if (this.#ownerLength > maxOwnerLength)
      throw new FeedRefusal(`has owners of more than ${maxOwnerLength} characters`);
    owned.owner = firstOf(owned.owner, owner.purl);
  }

  /**
   * Says where a package is, and of which layer.
   * @param isContained whether it contains the file, which counts where no file is named by which it was found.
   */
  addPlace(id: string, location: string | undefined, layer: string | undefined, isContained = false): void {
    const entry = this.#ofIds.get(id);
    if (entry === undefined) return;
    if (location !== undefined) (isContained ? entry.contained : entry.locations).add(location);
    entry.layerOfFile = firstOf(entry.layerOfFile, layer);
  }

  toSbom(format: string): Sbom {
    const entries = sorted(this.#entries);
    const indexes = new Map(entries.map((entry, i) => [entry, i]));
    const dependencies = entries.flatMap((dependent, i) =>
      [...(this.#dependencies.get(dependent) ?? [])]
        .map((dependency) => indexes.get(dependency)!)
        .sort((a, b) => a - b)
        .map((dependency): [number, number] => [i, dependency]),
    );
    return {
      format,
      packages: entries.map((entry) => entry.toPackage()),
      unmatched: sorted(this.#unmatched),
      dependencies,
      unversioned: this.#unversioned,
    };
  }

  #addUnmatched({ purl, ...named }: UnmatchedPackage): void {
    const unmatched = { ...named, ...(purl !== undefined && { purl }) };
    this.#unmatched.set(JSON.stringify(Object.values(unmatched)), unmatched);
    if (this.#unmatched.size > maxPackages)
      throw new FeedRefusal(`has more than ${maxPackages} packages without version or type`);
  }
}

function sorted<T>(byText: ReadonlyMap<string, T>): T[] {
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

function firstOf(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

function firstTexts(texts: ReadonlySet<string>): string[] {
  return [...texts].sort().slice(0, maxTexts);
}

/** The name of a package URL, in the letters of the component if it is the same name. */
function nameOf(url: PackageUrl, given: string | undefined): string {
  const name = packageName(url);
  return given !== undefined && normalName(url.type, given) === name ? given : name;
}

/** The version of a package URL; that of the component if the URL has none, or lacks its epoch. */
function versionOf(url: PackageUrl, given: string | undefined): string | undefined {
  const version = packageVersion(url);
  return version === "" || (given !== undefined && withoutEpoch(given) === version) ? given : version;
}

function withoutEpoch(version: string): string {
  return version.replace(/^[0-9]+:/, "");
}
