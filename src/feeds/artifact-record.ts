/** What the formats of package registries come to. */
import type { Ecosystem } from "../../gen/platform/libraries/v2/artifacts_pb.ts";
import { FeedRefusal } from "./fields.ts";

/** What a document says of one artifact. What it does not say is left out. */
export interface ArtifactRecord {
  readonly ecosystem: Ecosystem;
  /** As the document spells it. */
  readonly name: string;
  readonly description?: string;
  /** Whether the document has every version that there is; else its description is that of its version. */
  readonly isWhole: boolean;
  /** Each version once. */
  readonly versions: readonly VersionRecord[];
}

/** What a document says of one version. */
export interface VersionRecord {
  readonly version: string;
  readonly description?: string;
  /** When it was published, in milliseconds since 1970. */
  readonly createTimeMs?: number;
  readonly sizeBytes?: number;
  readonly yanked?: boolean;
}

/** Versions in one document at most. */
export const maxVersions = 100_000;

const maxNameLength = 512;
const maxVersionLength = 255;
const maxDescriptionLength = 4096;

/** The name of an artifact. Errors: FeedRefusal. */
export function checkName(name: string): string {
  if (name.length > maxNameLength || !/^[^\s\p{C}]+$/u.test(name))
    throw new FeedRefusal(`${quoted(name)} is not the name of an artifact`);
  return name;
}

/** A version of an artifact, which may be of any form. Errors: FeedRefusal. */
export function checkVersion(version: string): string {
  if (version.length > maxVersionLength || !/^\P{C}+$/u.test(version))
    throw new FeedRefusal(`${quoted(version)} is not a version`);
  return version;
}

/** A description cut to what is stored, without the white space around it. */
export function cutDescription(text: string): string {
  return text
    .trim()
    .slice(0, maxDescriptionLength)
    .toWellFormed()
    .replace(/\uFFFD$/, "");
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
