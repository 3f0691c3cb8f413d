/** What a document says of an artifact, whatever registry it comes from: its format is told by its name, or by its content. */
import type { ArtifactRecord } from "./artifact-record.ts";
import type { FeedFile } from "./feed.ts";
import { FeedRefusal, Fields, type Unread } from "./fields.ts";
import { readMavenDocument } from "./formats/maven.ts";
import { isPackument, packumentUnread, readPackument } from "./formats/npm.ts";
import { isPypiDocument, pypiUnread, readPypiDocument } from "./formats/pypi.ts";
import { readCoreMetadata } from "./formats/pypi-metadata.ts";
import { readWheel } from "./formats/pypi-wheel.ts";
import { decodeUtf8, parseJson } from "./parse-record.ts";

/** Bytes in one document: the packument of a package with 10,000 versions has about 30 MiB. */
export const maxDocumentBytes = 64 * 1024 * 1024;

/** Whether a file is a document about an artifact though its name is none that every feed reads. */
export function isArtifactDocument(name: string): boolean {
  return /\.(?:pom|whl)$|(?:^|\/)(?:METADATA|PKG-INFO)$/.test(name);
}

/** The artifact of a document; undefined for one that is about no artifact. Errors: FeedRefusal. */
export async function readArtifactDocument(
  { name, format, bytes }: FeedFile,
  unread: Unread,
): Promise<ArtifactRecord | undefined> {
  if (format === "xml" || name.endsWith(".pom")) return readMavenDocument(bytes, unread);
  if (name.endsWith(".whl")) return readWheel(bytes, unread);
  if (format === "other") return readCoreMetadata(decodeUtf8(bytes), unread);
  if (format === "yaml") return undefined;
  return readJsonDocument(new Fields(parseJson(bytes)), unread);
}

function readJsonDocument(record: Fields, unread: Unread): ArtifactRecord {
  const isPypi = isPypiDocument(record);
  if (!isPypi && !isPackument(record))
    throw new FeedRefusal("is neither a packument nor a document of PyPI's JSON API");
  const artifact = isPypi ? readPypiDocument(record) : readPackument(record);
  record.tellUnread(isPypi ? pypiUnread : packumentUnread, unread);
  return artifact;
}
