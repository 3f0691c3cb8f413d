/** Reads tar archives (POSIX.1-2001 pax, ustar, GNU) as streams. Entries that are not regular files are skipped. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FeedEntry, Intake } from "./entries.ts";
import { FeedBroken } from "./feed.ts";

const fileTypes: ReadonlySet<string | null | undefined> = new Set(["file", "contiguous-file"]);

/** Streams the files of a tar archive. Errors: FeedBroken. */
export async function* entriesOfTar(chunks: AsyncIterable<Uint8Array>, { report }: Intake): AsyncGenerator<FeedEntry> {
  const { extract } = await import("tar-stream"); // on first use: the server never needs it
  const archive = extract();
  let failure: unknown;
  const feeding = pipeline(Readable.from(chunks, { objectMode: false }), archive).catch((error: unknown) => {
    failure = error; // thrown by the loop below
  });
  const broken = async (error: unknown) => {
    await feeding;
    const cause = failure ?? error;
    return cause instanceof FeedBroken
      ? cause
      : new FeedBroken(`is not a valid tar archive: ${(cause as Error).message}`, { cause });
  };
  try {
    for await (const entry of archive) {
      const { name, type, size } = entry.header;
      const content = (entry as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
      const next = () =>
        content.next().catch(async (error: unknown) => {
          throw await broken(error);
        });
      // Without `return`, which would destroy the archive if a reader left an entry early.
      const unread = { [Symbol.asyncIterator]: () => ({ next }) };
      if (fileTypes.has(type)) yield { name, ...(size !== undefined && { size }), open: () => unread };
      else if (type !== "directory") report.skip(name);
      while (!(await next()).done);
    }
    await feeding;
    if (failure !== undefined) throw failure;
  } catch (error) {
    throw await broken(error);
  } finally {
    archive.destroy();
  }
}
