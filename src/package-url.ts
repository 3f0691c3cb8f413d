/** Package URLs (ECMA-427): `pkg:type/namespace/name@version?qualifiers#subpath`. */

/** The parts of a package URL. */
export interface PackageUrl {
  /** Lower case. */
  readonly type: string;
  /** "" where there is none. */
  readonly namespace: string;
  readonly name: string;
  /** "" where there is none. */
  readonly version: string;
  readonly qualifiers: ReadonlyMap<string, string>;
}

/** What tells packages of one name from each other. */
export interface PackageKind {
  /** As package URLs name it: `apk`, `npm`; "" where unknown. */
  readonly type: string;
  /** The distribution that it is of, `wolfi`, or what else is no part of its name; absent where there is none, or it is unknown. */
  readonly namespace?: string | undefined;
  /** The release of the distribution, as the qualifier `distro` names it: `alpine-3.19`; absent where unknown. */
  readonly distro?: string | undefined;
}

const shape = /^pkg:\/*([a-z][a-z0-9.+-]*)\/([^?#]+)(?:\?([^#]*))?(?:#.*)?$/is;

/** How names are written where a package URL parts them; elsewhere a namespace is no part of the name. */
const joiners: Readonly<Record<string, string>> = { npm: "/", golang: "/", maven: ":", composer: "/", github: "/" };

/** Types of the packages of distributions: the namespace is the distribution, and not everybody who names one says which. */
const distributions = new Set(["apk", "deb", "rpm", "alpm"]);

/** Types whose namespaces are written in lower case. */
const lowerNamespaces = new Set([...distributions, "composer", "github"]);

/** Parses a package URL; undefined for what is none. */
export function parsePackageUrl(text: string): PackageUrl | undefined {
  const [, givenType = "", path = "", query = ""] = shape.exec(text) ?? [];
  if (givenType === "") return undefined;
  const type = givenType.toLowerCase();
  const slash = path.lastIndexOf("/");
  const mark = path.lastIndexOf("@");
  const isVersioned = mark > slash;
  const whole = (isVersioned ? path.slice(0, mark) : path).replace(/^\/+|\/+$/g, "");
  const segments = whole.split("/").map(decode);
  const name = segments.pop() ?? "";
  if (name === "") return undefined;
  const qualifiers = new Map<string, string>();
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    if (equals > 0) qualifiers.set(pair.slice(0, equals).toLowerCase(), decode(pair.slice(equals + 1)));
  }
  const version = isVersioned ? decode(path.slice(mark + 1)) : "";
  const namespace = segments.filter(Boolean).join("/");
  return {
    type,
    namespace: lowerNamespaces.has(type) ? namespace.toLowerCase() : namespace,
    name: type === "pypi" ? name.toLowerCase().replaceAll("_", "-") : name,
    version,
    qualifiers,
  };
}

/** The package URL of a package: no version, and no qualifier but `distro`. The name is as {@link packageName} gives it. */
export function formatPackageUrl({ type, namespace = "", distro = "" }: PackageKind, name: string): string {
  const joiner = joiners[type];
  const end = joiner === undefined ? -1 : name.lastIndexOf(joiner);
  const before = end < 0 ? namespace : name.slice(0, end);
  const path = [...before.split("/").filter(Boolean), name.slice(end < 0 ? 0 : end + 1)].map(encodeURIComponent);
  return `pkg:${[type, ...path].join("/")}${distro === "" ? "" : `?distro=${encodeURIComponent(distro)}`}`;
}

/** A package's name as its ecosystem writes it: `openssl`, `@scope/name`, `group:artifact`. */
export function packageName({ type, namespace, name }: PackageUrl): string {
  const joiner = joiners[type];
  return joiner === undefined || namespace === "" ? name : `${namespace}${joiner}${name}`;
}

/** What kind of package a package URL names. */
export function packageKind({ type, namespace, qualifiers }: PackageUrl): PackageKind {
  const distro = qualifiers.get("distro");
  return {
    type,
    ...(namespace !== "" && joiners[type] === undefined && { namespace }),
    ...(distro && { distro: distro.toLowerCase() }),
  };
}

/**
 * Whether packages of one name are the same package: of one type, which must be known; of one namespace, unless one of two packages of distributions
 * has none; of releases one of which includes the other (`alpine-3.19` and `alpine-3.19.1`), unless one is unknown.
 */
export function isSameKind(a: PackageKind, b: PackageKind): boolean {
  if (a.type === "" || a.type !== b.type) return false;
  const isOpen = distributions.has(a.type) && (!a.namespace || !b.namespace);
  if (!isOpen && (a.namespace ?? "") !== (b.namespace ?? "")) return false;
  return (
    !a.distro || !b.distro || `${a.distro}.`.startsWith(`${b.distro}.`) || `${b.distro}.`.startsWith(`${a.distro}.`)
  );
}

/** Text that is not encoded as it should be is taken as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
