/**
 * From the entries of whatever holds a feed to the files that are wanted. Names from archives are labels and nothing is written by them; one that
 * would lead out of its folder is refused all the same, because nobody honest has it. What has no name that is read is passed over, and so are
 * hidden files and whatever is in hidden folders, those whose name begins with a dot: they belong to the tools that keep the feed.
 */
import type { Budget } from "./budget.ts";
import { type FeedFile, type FeedOptions, type FileFormat, formatOf } from "./feed.ts";
import { FeedRefusal } from "./fields.ts";
import { linesOf } from "./lines.ts";
import { printable } from "./printable.ts";
import { SeenIds } from "./seen-ids.ts";

/** Something with a name in a folder or an archive. */
export interface FeedEntry {
  readonly name: string;
  /** What its bytes are read as, where the name does not decide. */
  readonly format?: FileFormat | "lines";
  /** How many bytes it says it has. */
  readonly size?: number;
  /** Its bytes. Errors: FeedRefusal when this entry alone cannot be read. */
  open(): AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>;
}

/** What one feed's entries are read with. */
export interface Intake extends FeedOptions {
  readonly budget: Budget;
}

const defaultMaxFileBytes = 16 * 1024 * 1024;
const maxNameBytes = 4096;

/** The files in entries, each name once. Entries are read one after another, each before the next one is asked for. */
export async function* filesOf(entries: AsyncIterable<FeedEntry>, intake: Intake): AsyncGenerator<FeedFile> {
  const seen = new SeenIds();
  for await (const entry of entries) {
    if (intake.signal?.aborted) return;
    intake.budget.entry();
    const name = entry.name.replace(/^(?:\.\/)+/, "");
    if (isHidden(name)) {
      intake.report.passOver(name);
      continue;
    }
    const fault = faultOf(name) ?? (seen.add(name) ? undefined : "is there twice");
    if (fault !== undefined) intake.report.refuse(printable(name), fault);
    else yield* filesIn({ ...entry, name, open: () => entry.open() }, intake);
  }
}

/** The file, or the lines, of one entry; nothing when it is not wanted. */
export async function* filesIn(entry: FeedEntry, intake: Intake): AsyncGenerator<FeedFile> {
  const { report, also, maxFileBytes = defaultMaxFileBytes } = intake;
  const { name } = entry;
  const format = also?.(name) ? "other" : (entry.format ?? formatOf(name));
  if (format === undefined) return report.passOver(name);
  try {
    if (format === "lines") {
      for await (const line of linesOf(await entry.open(), maxFileBytes)) {
        const lineName = `${name}:${line.number}`;
        if (line.bytes === undefined) report.refuse(lineName, tooLarge(maxFileBytes));
        else yield { name: lineName, format: "json", bytes: line.bytes };
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
  const held: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes) throw new FeedRefusal(tooLarge(maxBytes));
    held.push(chunk);
  }
  return held.length === 1 ? held[0]! : Buffer.concat(held, length);
}

function tooLarge(maxBytes: number): string {
  return `is larger than ${maxBytes} bytes`;
}

/** Whether a file or a folder is one of a tool's own: `.git`, `.github/workflows/test.yaml`. */
export function isHidden(name: string): boolean {
  return name.split("/").some((part) => part.startsWith(".") && part !== "." && part !== "..");
}

/** What is wrong with the path of an entry. */
function faultOf(name: string): string | undefined {
  if (name.length > maxNameBytes) return "its name is too long";
  if (/[\0\\\n\r]/.test(name) || name.startsWith("/") || /^[a-z]:/i.test(name) || name.split("/").includes(".."))
    return "its name leads out of the feed";
  return undefined;
}
