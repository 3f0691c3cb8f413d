/** Package URLs (ECMA-427): `pkg:type/namespace/name@version?qualifiers#subpath`. */

/** The parts of a package URL. */
export interface PackageUrl {
  /** Lower case. */
  readonly type: string;
  /** "" if there is none. */
  readonly namespace: string;
  readonly name: string;
  /** "" if there is none. */
  readonly version: string;
  readonly qualifiers: ReadonlyMap<string, string>;
  /** "" if there is none. */
  readonly subpath: string;
}

/** Properties that distinguish packages of the same name. */
export interface PackageKind {
  /** Type of the package URL: `apk`, `npm`; "" if unknown. */
  readonly type: string;
  /** The distribution, `wolfi`, or another namespace that is not part of the name; absent if none or unknown. */
  readonly namespace?: string | undefined;
  /** The release of the distribution, as in the qualifier `distro`: `alpine-3.19`; absent if unknown. */
  readonly distro?: string | undefined;
}

const shape = /^pkg:\/*([a-z][a-z0-9.+-]*)\/([^?#]+)(?:\?([^#]*))?(?:#(.*))?$/is;

/** Separators between namespace and name, by type. In other types, the namespace is not part of the name. */
const joiners: Readonly<Record<string, string>> = { npm: "/", golang: "/", maven: ":", composer: "/", github: "/" };

/** Types of packages of distributions. The namespace is the distribution; some tools leave it out. */
const distributions = new Set(["apk", "deb", "rpm", "alpm"]);

/** Types that name an image. */
const images = new Set(["docker", "oci"]);

/** Types whose versions have an epoch, which some tools write as a qualifier. */
const withEpochs = new Set(["alpm", "deb", "rpm"]);

/** Types with case-insensitive namespaces, by the type definitions of the specification. */
const lowerNamespaces = new Set([
  ...distributions,
  ..."bitbucket brew composer github hex luarocks qpkg vscode-extension yocto".split(" "),
]);

/** Types with case-insensitive names. */
const lowerNames = new Set([
  ..."alpm apk bitbucket bitnami brew chrome-extension composer deb github hex luarocks oci otp pub pypi".split(" "),
  "vscode-extension",
]);

/** Types with case-insensitive versions. */
const lowerVersions = new Set(["huggingface", "oci", "pypi", "vscode-extension"]);

const qualifierKey = /^[a-z][a-z0-9._-]*$/i;

/** Whether packages of a type belong to a distribution, are built from source packages, and have releases. */
export function isDistributionType(type: string): boolean {
  return distributions.has(type);
}

/** Whether what a type names is an image, and no package. */
export function isImageType(type: string): boolean {
  return images.has(type);
}

/** Parses a package URL; undefined for an invalid one. */
export function parsePackageUrl(text: string): PackageUrl | undefined {
  const [, givenType = "", path = "", query = "", subpath = ""] = shape.exec(text) ?? [];
  if (givenType === "") return undefined;
  const type = givenType.toLowerCase();
  const slash = path.lastIndexOf("/");
  const at = path.lastIndexOf("@");
  const isVersioned = at > slash;
  const unversioned = (isVersioned ? path.slice(0, at) : path).replace(/^\/+|\/+$/g, "");
  const segments = unversioned.split("/").map(decode);
  // The name of `git` is all after the host.
  const names = segments.splice(type === "git" ? 1 : -1);
  const name = names.join("/");
  if (name === "") return undefined;
  const qualifiers = new Map<string, string>();
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    if (equals <= 0) continue;
    const key = pair.slice(0, equals);
    if (!qualifierKey.test(key)) return undefined;
    qualifiers.set(key.toLowerCase(), decode(pair.slice(equals + 1)));
  }
  const version = isVersioned ? decode(path.slice(at + 1)) : "";
  const namespace = segments.filter(Boolean).join("/");
  return {
    type,
    namespace: normalNamespace(type, namespace),
    name: isDatabricks(type, qualifiers) ? name.toLowerCase() : normalName(type, name),
    version: lowerVersions.has(type) ? version.toLowerCase() : version,
    qualifiers,
    subpath: subpath
      .split("/")
      .map(decode)
      .filter((segment) => !/^\.{0,2}$/.test(segment))
      .join("/"),
  };
}

/** Whether a model of MLflow is on a server that ignores the case of its name. */
function isDatabricks(type: string, qualifiers: ReadonlyMap<string, string>): boolean {
  return type === "mlflow" && /^https:\/\/[^/]*databricks\.(?:net|com)\//i.test(qualifiers.get("repository_url") ?? "");
}

/** The namespace by which packages of a type are compared. */
export function normalNamespace(type: string, namespace: string): string {
  return lowerNamespaces.has(type) ? namespace.toLowerCase() : namespace;
}

/** The name by which packages of a type are compared. @param name as of {@link packageName}. */
export function normalName(type: string, name: string): string {
  const cased = lowerNames.has(type) ? name.toLowerCase() : name;
  if (type === "pypi") return cased.replaceAll("_", "-");
  return type === "pub" ? cased.replace(/[^a-z0-9]/g, "_") : cased;
}

/**
 * The package URL of a package without version, and with no qualifier but `distro`. @param name as of {@link
 * packageName}.
 */
export function formatPackageUrl({ type, namespace = "", distro = "" }: PackageKind, name: string): string {
  const joiner = joiners[type];
  const end = joiner === undefined ? -1 : name.lastIndexOf(joiner);
  const prefix = end < 0 ? namespace : name.slice(0, end);
  const path = [...prefix.split("/").filter(Boolean), name.slice(end < 0 ? 0 : end + 1)].map(encodeURIComponent);
  return `pkg:${[type, ...path].join("/")}${distro === "" ? "" : `?distro=${encodeURIComponent(distro)}`}`;
}

/** The text of a package URL with all its parts, the same for all that are equal. */
export function packageUrlText({ type, namespace, name, version, qualifiers, subpath }: PackageUrl): string {
  // The name of `git` is a path.
  const names = type === "git" ? name.split("/") : [name];
  const path = [...namespace.split("/").filter(Boolean), ...names].map(encode).join("/");
  const query = [...qualifiers]
    .filter(([, value]) => value !== "")
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${encode(value)}`)
    .join("&");
  const parts = [
    version && `@${encode(version)}`,
    query && `?${query}`,
    subpath && `#${subpath.split("/").map(encode).join("/")}`,
  ];
  return `pkg:${type}/${path}${parts.join("")}`;
}

/** The name of a package as written in its ecosystem: `openssl`, `@scope/name`, `group:artifact`. */
export function packageName({ type, namespace, name }: PackageUrl): string {
  const joiner = joiners[type];
  return joiner === undefined || namespace === "" ? name : `${namespace}${joiner}${name}`;
}

/** The version of a package URL with the epoch of its qualifiers: `1:2.36-9`. */
export function packageVersion({ type, version, qualifiers }: PackageUrl): string {
  const epoch = qualifiers.get("epoch") ?? "";
  const isMissing = withEpochs.has(type) && /^[0-9]+$/.test(epoch) && version !== "" && !/^[0-9]+:/.test(version);
  return isMissing ? `${epoch}:${version}` : version;
}

/** The kind of the package of a package URL. */
export function packageKind({ type, namespace, qualifiers }: PackageUrl): PackageKind {
  const distro = qualifiers.get("distro");
  return {
    type,
    ...(namespace !== "" && joiners[type] === undefined && { namespace }),
    ...(distro && { distro: distro.toLowerCase() }),
  };
}

/**
 * Whether packages of the same name are the same package. All of these must match:
 *
 * - The types, which must be known.
 * - The namespaces. A package of a distribution without namespace matches any.
 * - The releases, if both are known: one must include the other (`alpine-3.19` and `alpine-3.19.1`). The distribution
 *   may be left out (`3.19.1`).
 */
export function isSameKind(a: PackageKind, b: PackageKind): boolean {
  if (a.type === "" || a.type !== b.type) return false;
  const isOpen = distributions.has(a.type) && (!a.namespace || !b.namespace);
  if (!isOpen && (a.namespace ?? "") !== (b.namespace ?? "")) return false;
  if (!a.distro || !b.distro) return true;
  const [x, y] =
    isRelease(a.distro) || isRelease(b.distro) ? [releaseOf(a.distro), releaseOf(b.distro)] : [a.distro, b.distro];
  return `${x}.`.startsWith(`${y}.`) || `${y}.`.startsWith(`${x}.`);
}

/** Whether a release is without its distribution. */
function isRelease(distro: string): boolean {
  return /^[0-9]/.test(distro);
}

function releaseOf(distro: string): string {
  return distro.replace(/^.*-(?=[0-9])/, "");
}

/** Encodes what has to be, which colons have not. */
function encode(text: string): string {
  if (/^[\w.-]*$/.test(text)) return text;
  return encodeURIComponent(text).replaceAll("%3A", ":");
}

/** Decodes percent-encoding. Returns a malformed text as it is. */
function decode(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
