/**
 * Reads the files below a directory, ordered by name in each folder. Symbolic links are not followed; one to something
 * outside of the directory is refused. Only regular files are read. Hidden files and folders are skipped.
 */
import { constants } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { type FeedEntry, type Intake, isHidden } from "./entries.ts";
import { FeedRefusal } from "./refusal.ts";

/** Does not follow a symbolic link created meanwhile, and does not block on a pipe. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Streams all files below a directory, named by their relative paths. */
export async function* entriesOfDirectory(directory: string, { report }: Intake): AsyncGenerator<FeedEntry> {
  const root = await realpath(directory);
  yield* below("");

  async function* below(folder: string): AsyncGenerator<FeedEntry> {
    const found = await readdir(join(root, folder), { withFileTypes: true });
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const item of found) {
      const name = folder === "" ? item.name : `${folder}/${item.name}`;
      if (isHidden(item.name)) report.skip(name);
      else if (item.isDirectory()) yield* below(name);
      else if (item.isFile()) yield { name, open: () => readRegularFile(join(root, name)) };
      else if (item.isSymbolicLink() && (await pointsOutside(root, join(root, name))))
        report.refuse(name, "is a link to outside of the directory");
      else report.skip(name);
    }
  }
}

/** Whether a link leads to something outside of a directory. A dangling link leads to nothing. */
async function pointsOutside(root: string, link: string): Promise<boolean> {
  const target = await realpath(link).catch(() => root);
  return target !== root && !target.startsWith(root + sep);
}

async function* readRegularFile(path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(path, openFlags).catch((error: NodeJS.ErrnoException) => {
    throw new FeedRefusal(`cannot be opened: ${error.code}`, { cause: error });
  });
  try {
    if (!(await handle.stat()).isFile()) throw new FeedRefusal("is no longer a file");
    yield* handle.createReadStream({ autoClose: false });
  } finally {
    await handle.close();
  }
}
