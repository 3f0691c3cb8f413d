/** The common result of the formats of package registries. */

import type { Ecosystem } from "../../../gen/platform/libraries/v2/artifacts_pb.ts";
import { FeedRefusal } from "../source/refusal.ts";

/** An artifact of a document. Absent fields are unknown. */
export interface ArtifactRecord {
  readonly ecosystem: Ecosystem;
  /** As spelled in the document. */
  readonly name: string;
  readonly description?: string;
  /** Whether the document lists all versions. If not, the description is that of its version. */
  readonly isWhole: boolean;
  /** Without duplicates. */
  readonly versions: readonly VersionRecord[];
}

/** A version of an artifact. */
export interface VersionRecord {
  readonly version: string;
  readonly description?: string;
  /** When it was published, in milliseconds since 1970. */
  readonly createTimeMs?: number;
  readonly sizeBytes?: number;
  readonly yanked?: boolean;
}

/** Limit of versions in a document. */
export const maxVersions = 100_000;

const maxNameLength = 512;
const maxVersionLength = 255;
const maxDescriptionLength = 4096;

/** Checks the name of an artifact. Errors: FeedRefusal. */
export function checkName(name: string): string {
  if (name.length > maxNameLength || !/^[^\s\p{C}]+$/u.test(name))
    throw new FeedRefusal(`${quoted(name)} is not the name of an artifact`);
  return name;
}

/** Checks a version, which may have any form. Errors: FeedRefusal. */
export function checkVersion(version: string): string {
  if (version.length > maxVersionLength || !/^\P{C}+$/u.test(version))
    throw new FeedRefusal(`${quoted(version)} is not a version`);
  return version;
}

/** Trims a description and cuts it to the stored length. */
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
