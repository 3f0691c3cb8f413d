/** Reads documents about artifacts of all package registries. The format is detected by name or content. */

import { Fields, hasMembers, type Unread } from "../records/fields.ts";
import { decodeUtf8, parseJson } from "../records/parse.ts";
import type { FeedFile } from "../source/feed.ts";
import { ForeignRecord } from "../source/refusal.ts";
import type { ArtifactRecord } from "./artifact-record.ts";
import { readMavenDocument } from "./maven.ts";
import { isPackument, packumentIgnored, readPackument } from "./npm.ts";
import { isPypiDocument, pypiIgnored, readPypiDocument } from "./pypi.ts";
import { readCoreMetadata } from "./pypi-metadata.ts";
import { readWheel } from "./pypi-wheel.ts";

/** Size limit of a document. The packument of a package with 10,000 versions has about 30 MiB. */
export const maxDocumentBytes = 64 * 1024 * 1024;

/** Whether a file is a document about an artifact, by names other than those that all feeds read. */
export function isArtifactDocument(name: string): boolean {
  return /\.(?:pom|whl)$|(?:^|\/)(?:METADATA|PKG-INFO)$/.test(name);
}

/**
 * The artifact of a document; undefined for a document of a package registry that has no versions. Errors: FeedRefusal;
 * ForeignRecord for another document.
 */
export async function readArtifactDocument(
  { name, format, bytes }: FeedFile,
  unread: Unread,
): Promise<ArtifactRecord | undefined> {
  if (format === "xml" || name.endsWith(".pom")) return readMavenDocument(bytes, unread);
  if (name.endsWith(".whl")) return readWheel(bytes, unread);
  if (format === "other") return readCoreMetadata(decodeUtf8(bytes), unread);
  if (format === "yaml") throw new ForeignRecord("is YAML");
  return readJsonDocument(parseJson(bytes), unread);
}

function readJsonDocument(value: unknown, unread: Unread): ArtifactRecord {
  const record = new Fields(hasMembers(value) ? value : {});
  const isPypi = isPypiDocument(record);
  if (!isPypi && !isPackument(record))
    throw new ForeignRecord("is neither a packument nor a document of PyPI's JSON API");
  const artifact = isPypi ? readPypiDocument(record) : readPackument(record);
  record.reportUnread(isPypi ? pypiIgnored : packumentIgnored, unread);
  return artifact;
}
