/** Wheels (PEP 427): zip archives, of which only the core metadata is read, `NAME-VERSION.dist-info/METADATA`. */
import { buffer } from "node:stream/consumers";
import type { Entry, ZipFile } from "yauzl";
import type { ArtifactRecord } from "../artifact-record.ts";
import { FeedRefusal, type Unread } from "../fields.ts";
import { decodeUtf8 } from "../parse-record.ts";
import { readCoreMetadata } from "./pypi-metadata.ts";

const maxEntries = 100_000;
const maxMetadataBytes = 4 * 1024 * 1024;
const metadataName = /^[^/]+\.dist-info\/METADATA$/;

/** The artifact of the version that a wheel is. Errors: FeedRefusal. */
export async function readWheel(bytes: Uint8Array, unread: Unread): Promise<ArtifactRecord> {
  const { fromBufferPromise } = await import("yauzl"); // only when first needed: the server never does
  try {
    const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
      lazyEntries: true,
    });
    const entry = await findMetadata(zip);
    const metadata = await buffer(await zip.openReadStreamPromise(entry)); // fails beyond the size that the entry tells
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
