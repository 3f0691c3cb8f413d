/**
 * Turns the entries of a directory or archive into the files of a feed. No file is written under the name of an entry;
 * an entry with a name outside of its folder is refused nevertheless, because it is likely hostile. Entries of unknown
 * formats are skipped. So are hidden files and folders (`.git`), which belong to the tools of the publisher.
 */
import { type FeedFile, type FeedOptions, type FileFormat, formatOf } from "./feed.ts";
import { linesOf } from "./lines.ts";
import { membersOf } from "./members.ts";
import { FeedRefusal } from "./refusal.ts";
import { SeenIds } from "./seen-ids.ts";
import type { SizeBudget } from "./size-budget.ts";

/** A file of a directory or archive. */
export interface FeedEntry {
  readonly name: string;
  /** Overrides the format of the name. */
  readonly format?: FileFormat | "lines";
  /** Size in bytes according to the archive, unchecked. */
  readonly size?: number;
  /** Opens the content. Errors: FeedRefusal if only this entry cannot be read. */
  open(): AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>;
}

/** Options and budget of one feed. */
export interface Intake extends FeedOptions {
  readonly budget: SizeBudget;
}

const defaultMaxFileBytes = 16 * 1024 * 1024;
const maxNameBytes = 4096;

/** The files of entries. A repeated name is refused. Each entry is read before the next one is requested. */
export async function* filesOf(entries: AsyncIterable<FeedEntry>, intake: Intake): AsyncGenerator<FeedFile> {
  const seen = new SeenIds();
  for await (const entry of entries) {
    if (intake.signal?.aborted) return;
    intake.budget.entry();
    const name = entry.name.replace(/^(?:\.\/)+/, "");
    if (isHidden(name)) {
      intake.report.skip(name);
      continue;
    }
    const fault = faultOf(name) ?? (seen.add(name) ? undefined : "occurs twice");
    if (fault !== undefined) intake.report.refuse(name, fault);
    else yield* filesIn({ ...entry, name, open: () => entry.open() }, intake);
  }
}

/** The file, or the lines, of one entry; nothing if it is skipped or refused. */
export async function* filesIn(entry: FeedEntry, intake: Intake): AsyncGenerator<FeedFile> {
  const { report, also, maxFileBytes = defaultMaxFileBytes } = intake;
  const { name } = entry;
  const format = also?.(name) ? "other" : (entry.format ?? formatOf(name));
  if (format === undefined) return report.skip(name);
  try {
    if (format === "lines") {
      for await (const line of linesOf(await entry.open(), maxFileBytes)) {
        const lineName = `${name}:${line.number}`;
        if (line.bytes === undefined) report.refuse(lineName, tooLarge(maxFileBytes));
        else yield { name: lineName, format: "json", bytes: line.bytes };
      }
    } else if (format === "json" && intake.isOfMembers) {
      for await (const { name: member, bytes } of membersOf(await entry.open(), maxFileBytes)) {
        const memberName = `${name}:${member}`;
        if (bytes === undefined) report.refuse(memberName, tooLarge(maxFileBytes));
        else yield { name: memberName, format, bytes };
      }
    } else {
      if ((entry.size ?? 0) > maxFileBytes) throw new FeedRefusal(tooLarge(maxFileBytes));
      yield { name, format, bytes: await bytesOf(await entry.open(), maxFileBytes) };
    }
  } catch (error) {
    if (!(error instanceof FeedRefusal)) throw error;
    report.refuse(name, error.message);
  }
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const read: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes) throw new FeedRefusal(tooLarge(maxBytes));
    read.push(chunk);
  }
  return read.length === 1 ? read[0]! : Buffer.concat(read, length);
}

function tooLarge(maxBytes: number): string {
  return `is larger than ${maxBytes} bytes`;
}

/** Whether a path is hidden: `.git`, `.github/workflows/test.yaml`. */
export function isHidden(name: string): boolean {
  return name.split("/").some((part) => part.startsWith(".") && part !== "." && part !== "..");
}

/** Why the name of an entry is refused; undefined if it is valid. */
function faultOf(name: string): string | undefined {
  if (name.length > maxNameBytes) return "its name is too long";
  if (/[\0\\\n\r]/.test(name) || name.startsWith("/") || /^[a-z]:/i.test(name) || name.split("/").includes(".."))
    return "its name is outside of the feed";
  return undefined;
}
