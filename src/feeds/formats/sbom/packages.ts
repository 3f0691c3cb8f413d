/** The packages of a bill of materials of any format. */
import { sourceOf } from "../../../matching/index.ts";
import {
  normalName,
  type PackageKind,
  type PackageUrl,
  packageKind,
  packageName,
  packageVersion,
  parsePackageUrl,
} from "../../../package-url.ts";
import { FeedRefusal } from "../../source/refusal.ts";

/** A package of a bill of materials. */
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
}

/** Values of the format's own fields, used where the package URL has none. */
type ListedFields = { readonly [F in keyof ListedPackage | "upstream"]?: string | undefined };

/** Limit of packages in a list. */
export const maxPackages = 100_000;

/** Types of package URLs that name the image itself. */
const imageTypes = new Set(["oci", "docker"]);

/** What a bill of materials says. */
export interface Sbom {
  /** Sorted and without duplicates, so that they do not depend on the order of the document. */
  readonly packages: readonly ListedPackage[];
  /** Count of packages without a version, which are left out. */
  readonly unversioned: number;
}

/** Collects the packages of a document. */
export class PackageList {
  readonly #byText = new Map<string, ListedPackage>();
  #unversioned = 0;

  /** Adds a package by its URL and fields. The image itself is not added. Errors: FeedRefusal for too many packages. */
  add(purl: string | undefined, fields: ListedFields): void {
    const url = purl === undefined ? undefined : parsePackageUrl(purl);
    const name = url === undefined ? fields.name : nameOf(url, fields.name);
    if (!name || (url !== undefined && imageTypes.has(url.type))) return;
    const version = url === undefined ? fields.version : versionOf(url, fields.version);
    if (!version) {
      this.#unversioned += 1;
      return;
    }
    const upstream = sourceOf(url?.qualifiers.get("upstream") || fields.upstream, version);
    const listed = {
      name,
      version,
      ...(url === undefined ? { type: fields.type ?? "" } : packageKind(url)),
      architecture: url?.qualifiers.get("arch") ?? fields.architecture ?? "",
      origin: url?.qualifiers.get("origin") ?? (upstream.origin || (fields.origin ?? "")),
      originVersion: upstream.originVersion || (fields.originVersion ?? ""),
    };
    this.#byText.set(JSON.stringify(Object.values(listed)), listed);
    if (this.#byText.size > maxPackages) throw new FeedRefusal(`has more than ${maxPackages} packages`);
  }

  toSbom(): Sbom {
    const packages = [...this.#byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, listed]) => listed);
    return { packages, unversioned: this.#unversioned };
  }
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
