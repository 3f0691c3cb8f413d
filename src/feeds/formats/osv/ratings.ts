/**
 * The ratings of OSV records. A record names no author of a rating: it is the publisher of the record, by the prefix of
 * its id. Ratings in words are those of Ubuntu, and GitHub's word where a record has no vector.
 */
import { cvssVersion, levelOfWord, type RatingFact } from "../../../matching/index.ts";
import { type Fields, hasMembers, type Unread } from "../../records/fields.ts";

const maxSeverities = 100;
const maxScoreLength = 512;

/** Types of severities that are vectors of CVSS. */
const scales: ReadonlySet<string> = new Set(["CVSS_V2", "CVSS_V3", "CVSS_V4"]);

/** Words for what has no rating yet. */
const notRated: ReadonlySet<string> = new Set(["unknown", "untriaged"]);

/** Publishers by the prefix of their ids, where that is not their name. */
const publishers: Readonly<Record<string, string>> = {
  alba: "almalinux",
  alea: "almalinux",
  alsa: "almalinux",
  alpine: "alpine",
  asb: "android",
  cga: "chainguard",
  cve: "nvd",
  dla: "debian",
  dsa: "debian",
  dtsa: "debian",
  eef: "erlang",
  hsec: "haskell",
  lsn: "ubuntu",
  mgasa: "mageia",
  osec: "ocaml",
  phsa: "photon",
  rhba: "redhat",
  rhea: "redhat",
  rhsa: "redhat",
  rlsa: "rocky",
  rxsa: "rocky",
  usn: "ubuntu",
};

/** The source of the ratings of a record: `nvd` for `CVE-2026-1`, `debian` for `DEBIAN-CVE-2026-1` and `DSA-1-1`. */
export function ratingSource(id: string): string {
  const prefix = id.slice(0, Math.max(0, id.search(/[-:]/))).toLowerCase() || id.toLowerCase();
  return Object.hasOwn(publishers, prefix) ? publishers[prefix]! : prefix;
}

/**
 * The ratings in `severity` of a record or of one of its packages. A severity that should be a vector and is not a
 * valid one is left out and reported as `member`. So is one in a word that no publisher uses.
 */
export function readRatings(fields: Fields, source: string, member: string, unread: Unread): RatingFact[] {
  return fields.objects("severity", maxSeverities).flatMap((severity): RatingFact[] => {
    const type = severity.text("type");
    const score = severity.text("score", maxScoreLength);
    if (scales.has(type) && cvssVersion(score) !== undefined) return [{ source, vector: score }];
    if (!scales.has(type) && levelOfWord(score) !== undefined)
      return [{ source: type.toLowerCase(), vector: "", word: score }];
    if (scales.has(type) || !notRated.has(score.toLowerCase())) unread(member);
    return [];
  });
}

/** GitHub's word for a record: `database_specific.severity`, which the schema of OSV leaves to publishers. */
export function readWord(specific: unknown, source: string): RatingFact[] {
  if (!hasMembers(specific, "severity")) return [];
  const { severity: word } = specific;
  return typeof word === "string" && levelOfWord(word) !== undefined ? [{ source, vector: "", word }] : [];
}
