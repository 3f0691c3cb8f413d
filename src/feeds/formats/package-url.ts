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

const shape = /^pkg:\/*([a-z][a-z0-9.+-]*)\/([^?#]+)(?:\?([^#]*))?(?:#.*)?$/is;

/** Parses a package URL; undefined for what is none. */
export function parsePackageUrl(text: string): PackageUrl | undefined {
  const [, type = "", path = "", query = ""] = shape.exec(text) ?? [];
  if (type === "") return undefined;
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
  return { type: type.toLowerCase(), namespace: segments.join("/"), name, version, qualifiers };
}

/** Text that is not encoded as it should be is taken as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
