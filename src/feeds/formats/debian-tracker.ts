/**
 * The data of Debian's security tracker (https://security-tracker.debian.org/tracker/data/json): for each source
 * package its vulnerabilities, and for each of these the releases with `status`, `fixed_version` and `urgency`.
 *
 * - `resolved`: versions below `fixed_version` are affected; none is if that is `0`.
 * - `open`: all versions are affected. No fix is planned if Debian ignores it, or the release is at its end of life.
 * - `undetermined`: somebody looks into it.
 */
import {
  type AffectedFact,
  canonicalRelease,
  levelOfWord,
  type PackageFact,
  packageKey,
  type VulnerabilityFacts,
} from "../../matching/index.ts";
import { Fields, hasMembers, ignoredMembers, type Unread } from "../records/fields.ts";
import { FeedRefusal, ForeignRecord } from "../source/refusal.ts";
import { isRecordId } from "./record-id.ts";

/** What the tracker says of one vulnerability in one source package. */
export interface DebianRecord {
  /** The source package and the vulnerability: `openssl CVE-2026-1`. */
  readonly name: string;
  readonly facts: VulnerabilityFacts;
}

/** A vulnerability of a package that is refused. */
export interface DebianRefusal extends Pick<DebianRecord, "name"> {
  readonly refusal: FeedRefusal;
}

const rater = "debian";
const neverAffected = "0";
const maxVersionLength = 255;
const maxDescriptionLength = 16_384;
const maxSummaryLength = 4096;

/** The versions in repositories, of which images have their own, and references for people. */
const ignored = ignoredMembers({
  "": "debianbug scope",
  "releases.*": "nodsa nodsa_reason repositories urgency",
});

/** Reads the vulnerabilities of source packages. Errors: ForeignRecord if it is none of the tracker; FeedRefusal. */
export function readDebianTracker(record: unknown, unread: Unread): (DebianRecord | DebianRefusal)[] {
  if (!hasMembers(record) || !Object.values(record).every(isPackage))
    throw new ForeignRecord("is not of Debian's security tracker: it needs packages with vulnerabilities and releases");
  return Object.entries(record).flatMap(([name, vulnerabilities]) =>
    Object.entries(vulnerabilities as object).map(([id, value]) => readOne(name, id, value, unread)),
  );
}

/** Whether a value has vulnerabilities with releases; one of them suffices. */
function isPackage(value: unknown): boolean {
  return hasMembers(value) && Object.values(value).some((each) => hasMembers(each, "releases"));
}

function readOne(source: string, id: string, value: unknown, unread: Unread): DebianRecord | DebianRefusal {
  const name = `${source} ${id}`;
  try {
    if (!isRecordId(source)) throw new FeedRefusal(`${JSON.stringify(source)} is not a source package`);
    if (!isRecordId(id)) throw new FeedRefusal(`${JSON.stringify(id)} is not an id`);
    const fields = new Fields(value);
    const description = fields.optionalText("description", maxDescriptionLength) ?? "";
    const packages = readReleases(source, fields.map("releases"));
    fields.reportUnread(ignored, unread);
    const facts: VulnerabilityFacts = {
      id,
      aliases: [],
      upstream: [],
      related: [],
      summary: description.replace(/\s+/g, " ").trim().slice(0, maxSummaryLength).toWellFormed(),
      weaknesses: [],
      ratings: [],
      packages,
    };
    return { name, facts };
  } catch (error) {
    if (!(error instanceof FeedRefusal)) throw error;
    return { name, refusal: new FeedRefusal(`${name}: ${error.message}`, { cause: error, ids: [name] }) };
  }
}

/** What is said of a release. */
type Standing = "ranges" | "ignored" | "undetermined";

/** The facts of all releases, by what is said of them. */
function readReleases(name: string, releases: Fields): PackageFact[] {
  const key = packageKey({ type: "deb", namespace: "debian", name });
  const facts: Record<Standing, AffectedFact[]> = { ranges: [], ignored: [], undetermined: [] };
  const words = new Set<string>();
  for (const release of releases.names) {
    const fields = releases.object(release);
    const urgency = fields.optionalText("urgency") ?? "";
    if (levelOfWord(urgency) !== undefined) words.add(urgency);
    const standing = standingOf(fields, urgency);
    const fixed = fields.optionalText("fixed_version", maxVersionLength);
    if (standing === undefined) continue;
    const range = { kind: "ECOSYSTEM", events: [{ introduced: "0" }, ...(fixed ? [{ fixed }] : [])] } as const;
    const distro = canonicalRelease(`debian-${release}`, "debian");
    const ranges = standing === "ranges" ? [range] : [];
    facts[standing].push({ key, distro, isSource: true, ranges, versions: [] });
  }
  const ratings = [...words].sort().map((word) => ({ source: rater, vector: "", word }));
  const said: PackageFact[] = [
    { kind: "advisory", key, facts: facts.ranges },
    { kind: "advisory", key, name: "no fix planned", facts: facts.ignored, events: [{ kind: "FIX_NOT_PLANNED" }] },
    { kind: "advisory", key, name: "undetermined", facts: facts.undetermined, events: [{ kind: "DETECTION" }] },
  ];
  const stated = said.filter((each) => each.facts.length > 0);
  return stated.map((each, i) => (i === 0 && ratings.length > 0 ? { ...each, ratings } : each));
}

/** Undefined if the release was never affected. */
function standingOf(fields: Fields, urgency: string): Standing | undefined {
  const status = fields.text("status");
  const isIgnored = fields.optionalText("nodsa_reason") === "ignored" || urgency === "end-of-life";
  switch (status) {
    case "resolved":
      if (!fields.has("fixed_version")) throw fields.refusal("fixed_version", "is missing");
      return fields.optionalText("fixed_version", maxVersionLength) === neverAffected ? undefined : "ranges";
    case "open":
      return isIgnored ? "ignored" : "ranges";
    case "undetermined":
      return "undetermined";
    default:
      throw fields.refusal("status", `${JSON.stringify(status)} is none of open, resolved, undetermined`);
  }
}
