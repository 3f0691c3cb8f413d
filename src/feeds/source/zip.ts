/**
 * Reads zip files (PKWARE APPNOTE 6.3) in the order of their directories. Encrypted entries, unknown compression
 * methods, and wrong sizes and checksums are refused individually. An invalid directory ends the feed.
 */
import type { Entry, ZipFile } from "yauzl";
import type { FeedEntry, Intake } from "./entries.ts";
import { FeedBroken } from "./feed.ts";
import { FeedRefusal } from "./refusal.ts";

/** Streams the files of a zip file. The descriptor stays open. @param size size of the zip file in bytes. */
export async function* entriesOfZip(fd: number, size: number, { budget, report }: Intake): AsyncGenerator<FeedEntry> {
  const yauzl = await import("yauzl"); // on first use: the server never needs it
  budget.packed(size);
  try {
    const zip = await yauzl.fromFdPromise(fd, { lazyEntries: true, autoClose: false, decodeStrings: false });
    let done = 0;
    for await (const entry of zip.eachEntry()) {
      report.advance(done++ / zip.entryCount);
      const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
      const name = yauzl.getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true);
      if (name.endsWith("/")) continue;
      yield { name, size: entry.uncompressedSize, open: () => contentOf(zip, entry, budget) };
    }
  } catch (error) {
    if (error instanceof FeedBroken) throw error;
    throw new FeedBroken(`is not a valid zip file: ${(error as Error).message}`, { cause: error });
  }
}

async function* contentOf(zip: ZipFile, entry: Entry, budget: Intake["budget"]): AsyncGenerator<Uint8Array> {
  if (entry.isEncrypted()) throw new FeedRefusal("is encrypted");
  if (!entry.canDecodeFileData()) throw new FeedRefusal(`is compressed by method ${entry.compressionMethod}`);
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      budget.unpacked(chunk.length);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof FeedBroken) throw error;
    throw new FeedRefusal(`cannot be unpacked: ${(error as Error).message}`, { cause: error });
  }
}
