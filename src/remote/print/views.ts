/**
 * Columns of messages that are no resources with a name: what is most telling is in messages in them, or is told by
 * several fields together. Messages that are not here have the columns of their descriptor.
 */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import type { Component, Finding } from "../../../gen/platform/findings/v1/findings_pb.ts";
import type { Image, ListedComponent } from "../../../gen/platform/findings/v1/images_pb.ts";
import type { Vulnerability } from "../../../gen/platform/findings/v1/vulnerabilities_pb.ts";
import { printable } from "../../log-text.ts";
import { type CellStyle, cellOf } from "./cells.ts";
import type { Column, Names } from "./columns.ts";
import { isLevel, levelCountsText } from "./levels.ts";

/** A column: the name of a field, or a function of a message. */
interface Shown<M> extends Partial<Pick<Column, "kind" | "leastWidth" | "differsAtEnd" | "hasLevels">> {
  readonly of: string | ((message: M, style: CellStyle, names: Names) => string);
}

type View<M> = Readonly<Record<string, Shown<M>>>;

/** Whether there will be a fix, where no version with one is known, by the number of the state. */
const fixWords: readonly string[] = ["", "", "none yet", "never", "pending"];

const finding: View<Finding> = {
  LEVEL: { of: "level" },
  VULNERABILITY: { of: "vulnerability_id", kind: "name" },
  PACKAGE: { of: ({ component }, style) => packageText(component, style), leastWidth: 22, differsAtEnd: true },
  "FIXED-IN": { of: ({ fixedVersion, fixState }) => fixedVersion || (fixWords[fixState] ?? "") },
  IMAGE: { of: imageOfFinding, differsAtEnd: true },
  EXPLOITED: { of: "known_exploited" },
  SCORE: { of: "score" },
  EPSS: { of: ({ epss }, style) => probability(epss, style) },
  STATE: { of: "state" },
  "FIRST-SEEN": { of: "first_seen", kind: "time" },
};

const image: View<Image> = {
  REPO: { of: ({ repo, repoName }) => repoName || repo, kind: "name" },
  TAGS: { of: "tags" },
  FINDINGS: { of: ({ levelCounts }) => levelCountsText(levelCounts), leastWidth: 22, hasLevels: true },
  DIGEST: { of: ({ digest }, style) => digestText(digest, style), leastWidth: 19 },
  OLDEST: { of: "oldest_finding_time", kind: "time" },
  COMPONENTS: { of: "component_count" },
  SBOM: { of: "has_sbom" },
  PLATFORMS: { of: "platforms" },
};

const component: View<ListedComponent> = {
  PACKAGE: { of: (it, style) => packageText(it.component, style), kind: "name", differsAtEnd: true },
  FINDINGS: { of: ({ levelCounts }) => levelCountsText(levelCounts), hasLevels: true },
  IMAGES: { of: "image_count" },
  LICENSES: { of: (it) => it.component?.licenses.join(", ") ?? "" },
  "NOT-MATCHED": { of: "unmatched_reason" },
  OWNER: { of: ({ occurrences }) => distinct(occurrences.map(({ owner }) => owner)) },
  LOCATIONS: { of: ({ occurrences }) => distinct(occurrences.flatMap(({ locations }) => locations)) },
};

const vulnerability: View<Vulnerability> = {
  ID: { of: "id", kind: "name" },
  LEVEL: { of: "level" },
  SCORE: { of: "score" },
  EPSS: { of: ({ epss }, style) => probability(epss, style) },
  EXPLOITED: { of: (it) => (it.knownExploited === undefined ? "" : "yes") },
  PUBLISHED: { of: "publish_time", kind: "time" },
  SUMMARY: { of: "summary" },
};

const plain = (...names: readonly string[]): View<Message> =>
  Object.fromEntries(names.map((name) => [name.replaceAll("_", "-").toUpperCase(), { of: name }]));

const views: Readonly<Record<string, View<never>>> = {
  Finding: finding,
  Image: image,
  ListedComponent: component,
  Vulnerability: vulnerability,
  TagHistoryEntry: plain("digest", "from", "to"),
  Assertion: plain("source", "id", "state", "fix_state", "fixed_version", "reason", "since"),
  Rating: plain("source", "score", "level", "vector"),
  VulnerabilityRecord: plain("source", "id", "publish_time", "modify_time", "withdraw_time", "aliases"),
  AffectedPackage: plain("package_url", "ranges", "fixed_versions", "distro", "source", "id", "unmatched_reason"),
};

/** The columns of a message that has some of its own. */
export function viewOf(schema: DescMessage): readonly Column[] | undefined {
  if (schema.file.proto.package !== "platform.findings.v1") return undefined;
  const view: View<never> | undefined = views[schema.name];
  if (view === undefined) return undefined;
  return Object.entries(view).map(([heading, { of, ...how }]) => {
    const field = typeof of === "string" ? schema.fields.find(({ name }) => name === of)! : undefined;
    const cell: Column["cell"] = (message, style, names) =>
      field === undefined ? printable((of as CellFunction)(message, style, names)) : cellOf(field, message, style);
    return { heading, kind: "text", ...(field && ofField(field)), ...how, cell };
  });
}

type CellFunction = (message: Message, style: CellStyle, names: Names) => string;

function ofField(field: DescField): Pick<Column, "hasLevels"> {
  return { hasLevels: isLevel(field) };
}

/** `npm/lodash@4.17.20` on a terminal; else the package URL. */
export function packageText(component: Component | undefined, { isBrief }: CellStyle): string {
  const { purl = "" } = component ?? {};
  if (!isBrief) return purl;
  const short = purl.replace(/^pkg:/, "").replace(/[?#].*$/s, "");
  try {
    return decodeURIComponent(short);
  } catch {
    return short;
  }
}

/** `sha256:0a1b2c3d4e5f` on a terminal. */
export function digestText(digest: string, { isBrief }: CellStyle): string {
  return isBrief ? digest.replace(/(?<=:[0-9a-f]{12})[0-9a-f]+$/, "") : digest;
}

/** The image of a finding; "" where there is none. */
function imageOfFinding({ repo, digest, tags }: Finding, style: CellStyle, names: Names): string {
  return repo === "" ? "" : imageText(names.get(repo) ?? repo, digest, tags, style);
}

/**
 * On a terminal `app:1.4`, `app:1.4 +2` where more tags name the image, or `app@sha256:0a1b2c3d4e5f` where none does;
 * else `app:1.4@sha256:…`.
 */
export function imageText(repo: string, digest: string, tags: readonly string[], style: CellStyle): string {
  const [tag, ...others] = tags;
  const named = tag === undefined ? repo : `${repo}:${tag}`;
  if (tag === undefined || !style.isBrief) return `${named}@${digestText(digest, style)}`;
  return others.length === 0 ? named : `${named} +${others.length}`;
}

/** `97.5%` on a terminal; else the number. */
function probability(value: number | undefined, { isBrief }: CellStyle): string {
  if (value === undefined) return "";
  return isBrief ? `${(value * 100).toFixed(1)}%` : String(value);
}

function distinct(texts: readonly string[]): string {
  return [...new Set(texts)].filter((text) => text !== "").join(", ");
}
