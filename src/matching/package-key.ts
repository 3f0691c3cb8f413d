/**
 * The keys of packages: what says that two names mean the same package. A key is the package URL without version,
 * qualifiers and subpath, in the letters that its ecosystem compares: `pkg:apk/wolfi/openssl`, `pkg:npm/%40scope/name`.
 */
import { isDistributionType, normalName, normalNamespace, packageUrlText, parsePackageUrl } from "../package-url.ts";
import { canonicalDistribution } from "./distributions.ts";

/** The parts of a package URL that name a package. */
export interface PackageIdentity {
  /** Type of the package URL: `apk`, `npm`. */
  readonly type: string;
  /** For apk, deb, rpm and alpm the distribution: `wolfi`. "" if there is none. */
  readonly namespace: string;
  readonly name: string;
}

/** Types whose registries or hosts of code ignore case, which their package URLs keep. */
const caselessTypes = new Set(["golang", "nuget", "swift"]);

const noQualifiers: ReadonlyMap<string, string> = new Map();

/** The key of a package. Names that an ecosystem regards as equal have the same. */
export function packageKey({ type, namespace, name }: PackageIdentity): string {
  return packageUrlText({
    type,
    namespace: isDistributionType(type)
      ? canonicalDistribution(namespace)
      : caseless(type, normalNamespace(type, namespace)),
    name: keyName(type, name),
    version: "",
    qualifiers: noQualifiers,
    subpath: "",
  });
}

/** The key of the package that a package URL names, whatever its version; undefined if it is not a package URL. */
export function packageKeyOfUrl(text: string): string | undefined {
  const url = parsePackageUrl(text);
  return url && packageKey(url);
}

/** The type of the package URL that a key is. */
export function typeOfKey(key: string): string {
  return key.slice("pkg:".length, key.indexOf("/"));
}

function keyName(type: string, name: string): string {
  // Normalized names of PEP 503: runs of the three separators are one hyphen.
  if (type === "pypi") return name.toLowerCase().replace(/[-_.]+/g, "-");
  return caseless(type, normalName(type, name));
}

function caseless(type: string, text: string): string {
  return caselessTypes.has(type) ? text.toLowerCase() : text;
}
