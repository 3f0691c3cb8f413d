/**
 * Opens a feed: a file, a directory, or an http(s) URL. Archives and compression are detected by their first bytes. So
 * is the format of a single file whose name does not show it.
 *
 * Everything is streamed, except that a downloaded zip file is stored in an unlinked temporary file, because its
 * directory is at the end.
 */
import { type FileHandle, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { entriesOfDirectory } from "./directory.ts";
import { download } from "./download.ts";
import { type FeedEntry, filesIn, filesOf, type Intake } from "./entries.ts";
import { FeedBroken, type FeedFile, type FeedOptions, formatOf } from "./feed.ts";
import { type BudgetLimits, SizeBudget } from "./size-budget.ts";
import { entriesOfTar } from "./tar.ts";
import { entriesOfZip } from "./zip.ts";

/** Bytes used to detect the format of a stream. */
const headBytes = 64 * 1024;

/**
 * Streams the files of a feed in its order. Failures are reported, those of the whole feed under its location; nothing
 * is thrown.
 *
 * @param location a path or an http(s) URL.
 */
export async function* openFeed(
  location: string,
  options: FeedOptions,
  limits?: Partial<BudgetLimits>,
): AsyncGenerator<FeedFile> {
  const intake = { ...options, budget: new SizeBudget(limits) };
  try {
    yield* /^https?:\/\//i.test(location) ? filesAtUrl(location, intake) : filesAtPath(location, intake);
  } catch (error) {
    if (options.signal?.aborted) return;
    if (!(error instanceof FeedBroken) && !isSystemError(error)) throw error;
    options.report.refuse(location, error.message);
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).errno === "number";
}

async function* filesAtPath(path: string, intake: Intake): AsyncGenerator<FeedFile> {
  const found = await stat(path);
  if (found.isDirectory()) return yield* filesOf(entriesOfDirectory(path, intake), intake);
  if (!found.isFile()) throw new FeedBroken("is neither a file nor a directory");
  const handle = await open(path);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    if (isZip(buffer.subarray(0, bytesRead)))
      return yield* filesOf(entriesOfZip(handle.fd, found.size, intake), intake);
    const chunks = handle.createReadStream({ start: 0, autoClose: false });
    yield* filesInStream(counted(chunks, found.size, intake), basename(path), intake);
  } finally {
    await handle.close();
  }
}

async function* filesAtUrl(url: string, intake: Intake): AsyncGenerator<FeedFile> {
  const { name, size, body, close } = await download(url, { ...(intake.signal && { signal: intake.signal }) });
  try {
    yield* filesInStream(counted(body, size, intake), name, intake);
  } finally {
    await close();
  }
}

/** Passes chunks through, and counts them for progress and budget. */
async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  size: number | undefined,
  { report, budget }: Intake,
): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of chunks) {
    read += chunk.length;
    budget.packed(chunk.length);
    if (size !== undefined && size > 0) report.advance(Math.min(1, read / size));
    yield chunk;
  }
}

async function* filesInStream(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  intake: Intake,
): AsyncGenerator<FeedFile> {
  const outer = await peek(chunks);
  if (isZip(outer.head)) return yield* filesInSpooledZip(outer.chunks, intake);
  const isCompressed = outer.head[0] === 0x1f && outer.head[1] === 0x8b;
  const { head, chunks: content } = isCompressed ? await peek(gunzip(outer.chunks, intake)) : outer;
  const innerName = isCompressed ? name.replace(/\.gz$/i, "") : name;
  if (isTar(head)) return yield* filesOf(entriesOfTar(content, intake), intake);
  const entry: FeedEntry = { name: innerName, format: formatOf(innerName) ?? sniff(head), open: () => content };
  yield* filesIn(entry, intake);
}

/**
 * The first bytes of a stream, and the complete stream. An error while peeking is thrown when the stream is read up to
 * that point.
 */
async function peek(chunks: AsyncIterable<Uint8Array>): Promise<{ head: Buffer; chunks: AsyncIterable<Uint8Array> }> {
  const iterator = chunks[Symbol.asyncIterator]();
  const peeked: Uint8Array[] = [];
  let next = iterator.next();
  for (let length = 0; length < headBytes; next = iterator.next()) {
    const result = await next.catch(() => undefined);
    if (result === undefined || result.done) break;
    peeked.push(result.value);
    length += result.value.length;
  }
  next.catch(() => {}); // thrown when the stream is read
  async function* whole() {
    try {
      yield* peeked.splice(0);
      for (let result = await next; !result.done; result = await iterator.next()) yield result.value;
    } finally {
      await iterator.return?.();
    }
  }
  return { head: Buffer.concat(peeked), chunks: whole() };
}

async function* gunzip(chunks: AsyncIterable<Uint8Array>, { budget }: Intake): AsyncGenerator<Uint8Array> {
  const unpacked = createGunzip();
  let failure: unknown;
  const feeding = pipeline(chunks, unpacked).catch((error: unknown) => {
    failure = error;
  });
  try {
    for await (const chunk of unpacked) {
      budget.unpacked(chunk.length);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof FeedBroken) throw error;
    await feeding;
    const cause = failure ?? error;
    if (cause instanceof FeedBroken) throw cause;
    throw new FeedBroken(`is not valid gzip data: ${(cause as Error).message}`, { cause });
  } finally {
    unpacked.destroy();
  }
}

async function* filesInSpooledZip(chunks: AsyncIterable<Uint8Array>, intake: Intake): AsyncGenerator<FeedFile> {
  const spool = await unnamedFile();
  try {
    let size = 0;
    for await (const chunk of chunks) {
      intake.budget.unpacked(chunk.length);
      await spool.write(chunk);
      size += chunk.length;
    }
    yield* filesOf(entriesOfZip(spool.fd, size, intake), intake);
  } finally {
    await spool.close();
  }
}

/** Opens an unlinked temporary file: it is deleted when it is closed or the process ends. */
async function unnamedFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), "platform-feed-"));
  try {
    return await open(join(folder, "feed.zip"), "wx+", 0o600);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function isZip(head: Uint8Array): boolean {
  return head[0] === 0x50 && head[1] === 0x4b && ((head[2] === 3 && head[3] === 4) || (head[2] === 5 && head[3] === 6));
}

function isTar(head: Buffer): boolean {
  return head.length >= 512 && head.toString("latin1", 257, 262) === "ustar";
}

/** Detects the format of a file. It is JSON Lines if the first of several lines is a JSON value. */
function sniff(head: Buffer): "json" | "lines" | "yaml" | "xml" {
  const text = head
    .toString("utf8")
    .replace(/^\uFEFF/, "")
    .trimStart();
  if (text.startsWith("<")) return "xml";
  if (!/^[[{]/.test(text)) return "yaml";
  const [firstLine = "", second] = text.split("\n", 2);
  if (second === undefined) return "json";
  try {
    JSON.parse(firstLine);
    return "lines";
  } catch {
    return "json";
  }
}
