/** Wheels (PEP 427): zip archives. Reads only the core metadata, `NAME-VERSION.dist-info/METADATA`. */

import { buffer } from "node:stream/consumers";
import type { Entry, ZipFile } from "yauzl";
import type { Unread } from "../records/fields.ts";
import { decodeUtf8 } from "../records/parse.ts";
import { FeedRefusal } from "../source/refusal.ts";
import type { ArtifactRecord } from "./artifact-record.ts";
import { readCoreMetadata } from "./pypi-metadata.ts";

const maxEntries = 100_000;
const maxMetadataBytes = 4 * 1024 * 1024;
const metadataName = /^[^/]+\.dist-info\/METADATA$/;

/** Reads the artifact of a wheel, with its one version. Errors: FeedRefusal. */
export async function readWheel(bytes: Uint8Array, unread: Unread): Promise<ArtifactRecord> {
  const { fromBufferPromise } = await import("yauzl"); // on first use: the server never needs it
  try {
    const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
      lazyEntries: true,
    });
    const entry = await findMetadata(zip);
    const metadata = await buffer(await zip.openReadStreamPromise(entry)); // fails beyond the size of the entry
    return readCoreMetadata(decodeUtf8(metadata), unread);
  } catch (error) {
    if (error instanceof FeedRefusal) throw error;
    throw new FeedRefusal(`is not a wheel: ${(error as Error).message}`, { cause: error });
  }
}

async function findMetadata(zip: ZipFile): Promise<Entry> {
  if (zip.entryCount > maxEntries) throw new FeedRefusal(`has more than ${maxEntries} entries`);
  for await (const entry of zip.eachEntry()) {
    if (!metadataName.test(entry.fileName)) continue;
    if (entry.uncompressedSize > maxMetadataBytes)
      throw new FeedRefusal(`${entry.fileName}: is larger than ${maxMetadataBytes} bytes`);
    return entry;
  }
  throw new FeedRefusal("has no core metadata");
}
