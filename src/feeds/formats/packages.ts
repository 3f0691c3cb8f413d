/** The packages of a bill of materials of any format. */
import {
  type PackageKind,
  type PackageUrl,
  packageKind,
  packageName,
  packageVersion,
  parsePackageUrl,
} from "../../package-url.ts";

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
type ListedFields = { readonly [F in keyof ListedPackage]?: string | undefined };

/** Limit of packages in a list. */
export const maxPackages = 100_000;

/** Types of package URLs that name the image itself. */
const imageTypes = new Set(["oci", "docker"]);

/** A package by its URL and fields; undefined if it is not a package, or has no version. */
export function listedPackage(purl: string | undefined, fields: ListedFields): ListedPackage | undefined {
  const url = purl === undefined ? undefined : parsePackageUrl(purl);
  if (url !== undefined && imageTypes.has(url.type)) return undefined;
  const name = url === undefined ? fields.name : packageName(url);
  const version = (url === undefined ? "" : packageVersion(url)) || fields.version;
  if (!name || !version) return undefined;
  const [upstream = "", upstreamVersion = ""] = upstreamOf(url);
  return {
    name,
    version,
    ...(url === undefined ? { type: fields.type ?? "" } : packageKind(url)),
    architecture: url?.qualifiers.get("arch") ?? fields.architecture ?? "",
    origin: url?.qualifiers.get("origin") ?? (upstream || (fields.origin ?? "")),
    originVersion: upstreamVersion || (fields.originVersion ?? ""),
  };
}

/** Sorts packages and removes duplicates, so that the result does not depend on the order of the list. */
export function sortPackages(packages: Iterable<ListedPackage>): readonly ListedPackage[] {
  const byText = new Map<string, ListedPackage>();
  for (const listed of packages) byText.set(JSON.stringify(Object.values(listed)), listed);
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, listed]) => listed);
}

/**
 * The source package and its version: `upstream=gcc-12`, `upstream=glibc@2.31-1`,
 * `upstream=openssl-3.0.7-2.el9.src.rpm`.
 */
function upstreamOf(url: PackageUrl | undefined): readonly string[] {
  const upstream = url?.qualifiers.get("upstream") ?? "";
  const rpm = /^(.+)-([^-]+-[^-]+)\.src\.rpm$/.exec(upstream);
  if (rpm !== null) return rpm.slice(1);
  const at = upstream.lastIndexOf("@");
  return at > 0 ? [upstream.slice(0, at), upstream.slice(at + 1)] : [upstream];
}
