/** The packages of a bill of materials, whatever its format. */
import { type PackageKind, type PackageUrl, packageKind, packageName, parsePackageUrl } from "../../package-url.ts";

/** A package that something is made of. */
export interface ListedPackage extends PackageKind {
  /** As its ecosystem writes it: `openssl`, `@scope/name`, `group:artifact`. */
  readonly name: string;
  readonly version: string;
  /** "" where unknown. */
  readonly architecture: string;
  /** The package that it is built from; "" where unknown. */
  readonly origin: string;
  /** The version of the origin; "" where it is the package's own. */
  readonly originVersion: string;
}

/** What a format's own fields say, where its package URL does not. */
export type ListedFields = { readonly [F in keyof ListedPackage]?: string | undefined };

/** Packages in one list at most. */
export const maxPackages = 100_000;

/** Packages of the image itself: the URL names what is being listed, or where it lies. */
const containers = new Set(["oci", "docker"]);

/** A package by its URL and its format's own fields; undefined for what is no package, or has no version to compare. */
export function listedPackage(purl: string | undefined, fields: ListedFields): ListedPackage | undefined {
  const url = purl === undefined ? undefined : parsePackageUrl(purl);
  if (url !== undefined && containers.has(url.type)) return undefined;
  const name = url === undefined ? fields.name : packageName(url);
  const version = (url === undefined ? "" : versionOf(url)) || fields.version;
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

/** Every package once, in an order of our own, so that the same list in another order is the same. */
export function sortPackages(packages: Iterable<ListedPackage>): readonly ListedPackage[] {
  const byText = new Map<string, ListedPackage>();
  for (const listed of packages) byText.set(JSON.stringify(Object.values(listed)), listed);
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, listed]) => listed);
}

/** RPM's epoch stands beside the version. */
function versionOf({ type, version, qualifiers }: PackageUrl): string {
  const epoch = qualifiers.get("epoch");
  return type === "rpm" && epoch !== undefined && version !== "" ? `${epoch}:${version}` : version;
}

/** `upstream=gcc-12`, `upstream=glibc@2.31-1`, `upstream=openssl-3.0.7-2.el9.src.rpm`: the source package and its version. */
function upstreamOf(url: PackageUrl | undefined): readonly string[] {
  const upstream = url?.qualifiers.get("upstream") ?? "";
  const rpm = /^(.+)-([^-]+-[^-]+)\.src\.rpm$/.exec(upstream);
  if (rpm !== null) return rpm.slice(1);
  const mark = upstream.lastIndexOf("@");
  return mark > 0 ? [upstream.slice(0, mark), upstream.slice(mark + 1)] : [upstream];
}
