/** Affected versions that are listed one by one. */
import { compareParsedVersions, type ParsedVersion, parsePackageVersion } from "../versions/index.ts";

/**
 * A list of versions. A version is in it if it has the text of one, or is equal to one in the order of its type: `1.0`
 * and `1.0.0` of PyPI.
 */
export class ListedVersions {
  readonly #type: string;
  readonly #texts: ReadonlySet<string>;
  /** By {@link digitsOf}, made when it is first needed. */
  #byDigits: ReadonlyMap<string, ListedVersion[]> | undefined;

  constructor(versions: readonly string[], type: string) {
    this.#type = type;
    this.#texts = new Set(versions);
  }

  /** @param parsed undefined if it is not a version of the type. */
  has(text: string, parsed: ParsedVersion | undefined): boolean {
    if (this.#texts.has(text)) return true;
    if (parsed === undefined || this.#texts.size === 0) return false;
    this.#byDigits ??= byDigits(this.#texts, this.#type);
    const similar = this.#byDigits.get(digitsOf(text, this.#type));
    return similar?.some((listed) => listed.equals(parsed, this.#type)) ?? false;
  }
}

/** A version that is read when it is first compared. */
class ListedVersion {
  readonly #text: string;
  #parsed: ParsedVersion | "" | undefined = "";

  constructor(text: string) {
    this.#text = text;
  }

  equals(version: ParsedVersion, type: string): boolean {
    if (this.#parsed === "") this.#parsed = parsePackageVersion(type, this.#text);
    return this.#parsed !== undefined && compareParsedVersions(this.#parsed, version) === 0;
  }
}

function byDigits(texts: Iterable<string>, type: string): ReadonlyMap<string, ListedVersion[]> {
  const versions = new Map<string, ListedVersion[]>();
  for (const text of texts) {
    const digits = digitsOf(text, type);
    const similar = versions.get(digits);
    if (similar === undefined) versions.set(digits, [new ListedVersion(text)]);
    else similar.push(new ListedVersion(text));
  }
  return versions;
}

/**
 * The digits of a version but zeros and build metadata. Versions that any order regards as equal have the same, so that
 * few of a list are read and compared. Arch Linux does not compare a release with none.
 */
function digitsOf(version: string, type: string): string {
  const compared = type === "alpm" ? version.replace(/-[^-]*$/, "") : version;
  return compared.replace(/\+.*|[^1-9+]+/gs, "");
}
