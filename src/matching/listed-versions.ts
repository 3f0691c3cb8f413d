/** Affected versions that are listed one by one. */
import { compareParsedVersions, type ParsedVersion, parsePackageVersion } from "../versions/index.ts";

/**
 * A list of versions. A version is in it if it has the text of one, or is equal to one in the order of its type: `1.0`
 * and `1.0.0` of PyPI.
 *
 * A list may be long, and most lists are asked for versions that are not in them. So each version has a number that
 * equal ones have too, and few are read and compared.
 */
export class ListedVersions {
  readonly #type: string;
  readonly #texts: readonly string[];
  /** As of {@link digitsHash}, made when they are first needed. */
  #hashes: Int32Array | undefined;
  /** Versions that have been read, by their place. */
  #parsed: Map<number, ParsedVersion | undefined> | undefined;

  constructor(versions: readonly string[], type: string) {
    this.#type = type;
    this.#texts = versions;
  }

  /** @param parsed undefined if it is not a version of the type. */
  has(text: string, parsed: ParsedVersion | undefined): boolean {
    this.#hashes ??= Int32Array.from(this.#texts, (each) => digitsHash(each, this.#type));
    const hash = digitsHash(text, this.#type);
    for (let i = this.#hashes.indexOf(hash); i >= 0; i = this.#hashes.indexOf(hash, i + 1)) {
      if (this.#texts[i] === text) return true;
      const listed = parsed && this.#read(i);
      if (listed !== undefined && compareParsedVersions(listed, parsed!) === 0) return true;
    }
    return false;
  }

  #read(i: number): ParsedVersion | undefined {
    this.#parsed ??= new Map();
    if (!this.#parsed.has(i)) this.#parsed.set(i, parsePackageVersion(this.#type, this.#texts[i]!));
    return this.#parsed.get(i);
  }
}

const [one, nine, plus, hyphen] = [0x31, 0x39, 0x2b, 0x2d];

/**
 * A number made of the digits of a version but zeros and build metadata, which all orders pass over where they regard
 * versions as equal. Arch Linux does not compare a release with none.
 */
function digitsHash(version: string, type: string): number {
  let hash = 0;
  let withoutRelease: number | undefined;
  for (let i = 0; i < version.length; i++) {
    const code = version.charCodeAt(i);
    if (code >= one && code <= nine) hash = (Math.imul(hash, 31) + code) | 0;
    else if (code === plus) break;
    else if (code === hyphen && type === "alpm") withoutRelease = hash;
  }
  return withoutRelease ?? hash;
}
