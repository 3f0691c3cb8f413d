/** Shared by imports of one document: reading it, the image that it is about, and the summary. */
import { readFile, stat } from "node:fs/promises";
import { basename } from "node:path";
import { CommandFailure } from "../../command/index.ts";
import { FeedRefusal, type ImportReport, isDigest, type ReadNotes } from "../../feeds/index.ts";
import { registryContents } from "../../services/index.ts";
import type { WriteSession } from "../../store/index.ts";

/** Reads a file. Errors: CommandFailure if it is larger; those of the file system. */
export async function readLimited(path: string, maxBytes: number): Promise<Buffer> {
  const { size } = await stat(path);
  if (size > maxBytes) throw new CommandFailure(`${path}: is larger than ${maxBytes} bytes`);
  return readFile(path);
}

/** Reads a document, and reports what of it is left out. Errors: CommandFailure if it is refused as a whole. */
export async function readDocument<T>(
  path: string,
  maxBytes: number,
  report: ImportReport,
  read: (bytes: Buffer, notes: ReadNotes) => T,
): Promise<T> {
  const bytes = await readLimited(path, maxBytes);
  const name = basename(path);
  try {
    return read(bytes, {
      refuse: (at, reason) => report.refuse(`${name}: ${at}`, reason),
      unread: (member) => report.unread(member, name),
    });
  } catch (error) {
    if (error instanceof FeedRefusal) throw new CommandFailure(`${path}: ${error.message}`);
    throw error;
  }
}

/** Checks the value of `--digest`. Errors: CommandFailure. */
export function requireDigest(digest: string): string {
  if (!isDigest(digest)) throw new CommandFailure("--digest must be sha256: and 64 lower-case hex digits");
  return digest;
}

/** Holds the repo of an image. Errors: CommandFailure if there is no such repo, or it does not have the digest. */
export async function requireImage(session: WriteSession, repo: string, digest: string): Promise<void> {
  if (!(await registryContents.holdRepo(session, repo))) throw new CommandFailure(`--repo: there is no repo ${repo}`);
  if (!(await registryContents.hasDigest(session, repo, digest)))
    throw new CommandFailure(`--digest: the repo has no image and no tag with ${digest}`);
}

/** Ends a report and prints the summary. Errors: CommandFailure if a part of the document was refused. */
export function endImport(report: ImportReport, summary: object, text: string, asJson = false): void {
  report.end();
  process.stdout.write(`${asJson ? JSON.stringify(summary) : text}\n`);
  const { refused } = report.summary;
  if (refused > 0) throw new CommandFailure(`${refused} refused`);
}
