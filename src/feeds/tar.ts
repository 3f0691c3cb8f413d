/** The files of a tar archive (POSIX.1-2001 pax, ustar, GNU), as they come. Whatever is no regular file is passed over. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FeedEntry, Intake } from "./entries.ts";
import { FeedBroken } from "./feed.ts";

const fileTypes: ReadonlySet<string | null | undefined> = new Set(["file", "contiguous-file"]);

/** Errors: FeedBroken. */
export async function* entriesOfTar(chunks: AsyncIterable<Uint8Array>, { report }: Intake): AsyncGenerator<FeedEntry> {
  const { extract } = await import("tar-stream"); // only when first needed: the server never does
  const archive = extract();
  let failure: unknown;
  const feeding = pipeline(Readable.from(chunks, { objectMode: false }), archive).catch((error: unknown) => {
    failure = error; // told by whoever reads the archive, and sees it end
  });
  const broken = async (error: unknown) => {
    await feeding;
    const cause = failure ?? error;
    return cause instanceof FeedBroken
      ? cause
      : new FeedBroken(`is not a whole archive: ${(cause as Error).message}`, { cause });
  };
  try {
    for await (const entry of archive) {
      const { name, type, size } = entry.header;
      const content = (entry as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
      const next = () =>
        content.next().catch(async (error: unknown) => {
          throw await broken(error);
        });
      // Without `return`: to leave an entry early would end the archive.
      const unread = { [Symbol.asyncIterator]: () => ({ next }) };
      if (fileTypes.has(type)) yield { name, ...(size !== undefined && { size }), open: () => unread };
      else if (type !== "directory") report.passOver(name);
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
