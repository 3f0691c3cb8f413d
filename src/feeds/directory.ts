/**
 * The files below a directory, in the order of their names, folders among them. Links are not followed: what one points to inside is read where it
 * lies, and one that points outside is refused. Only regular files are opened; hidden folders are not looked into.
 */
import { constants } from "node:fs";
import { open, readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { type FeedEntry, type Intake, isHidden } from "./entries.ts";
import { FeedRefusal } from "./fields.ts";

/** What opening must not do: follow a link that has just been put there, or wait for a pipe's other end. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Every file below a directory, by its path in it. */
export async function* entriesOfDirectory(directory: string, { report }: Intake): AsyncGenerator<FeedEntry> {
  const root = await realpath(directory);
  yield* below("");

  async function* below(folder: string): AsyncGenerator<FeedEntry> {
    const found = await readdir(join(root, folder), { withFileTypes: true });
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const item of found) {
      const name = folder === "" ? item.name : `${folder}/${item.name}`;
      if (isHidden(item.name)) report.passOver(name);
      else if (item.isDirectory()) yield* below(name);
      else if (item.isFile()) yield { name, open: () => readRegularFile(join(root, name)) };
      else if (item.isSymbolicLink() && !(await leadsInside(root, join(root, name))))
        report.refuse(name, "is a link that leads out of the directory");
      else report.passOver(name);
    }
  }
}

async function leadsInside(root: string, link: string): Promise<boolean> {
  const target = await realpath(link).catch(() => undefined); // leads nowhere
  return target !== undefined && (target === root || target.startsWith(root + sep));
}

async function* readRegularFile(path: string): AsyncGenerator<Uint8Array> {
  const handle = await open(path, openFlags).catch((error: NodeJS.ErrnoException) => {
    throw new FeedRefusal(`cannot be opened: ${error.code}`, { cause: error });
  });
  try {
    if (!(await handle.stat()).isFile()) throw new FeedRefusal("is not a file any more");
    yield* handle.createReadStream({ autoClose: false });
  } finally {
    await handle.close();
  }
}
