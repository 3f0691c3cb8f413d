/** Reads a large bill of materials on a thread: it would block the event loop for long, and with it all calls. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { ReadNotes } from "../../records/read-each.ts";
import { FeedRefusal, ForeignRecord } from "../../source/refusal.ts";
import type { Sbom } from "./packages.ts";
import { readSbom } from "./sbom.ts";

/** From the thread: what the reader has answered. */
export interface FromSbomThread {
  readonly refused: readonly (readonly [path: string, reason: string])[];
  readonly unread: readonly string[];
  readonly result: Sbom | { readonly refusal: string; readonly isForeign: boolean };
}

/** Smaller documents are read at once. */
const minThreadBytes = 256 * 1024;

/** As `readSbom`. */
export async function readSbomOnThread(bytes: Uint8Array, notes: ReadNotes): Promise<Sbom> {
  if (bytes.length < minThreadBytes) return readSbom(bytes, notes);
  const thread = new Worker(new URL(`./sbom-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: bytes,
    execArgv: [],
  });
  const answered = Promise.withResolvers<FromSbomThread>();
  thread.on("message", answered.resolve);
  thread.on("error", answered.reject);
  thread.on("exit", () => answered.reject(new Error("the thread that reads a bill of materials has ended")));
  try {
    const { refused, unread, result } = await answered.promise;
    for (const [path, reason] of refused) notes.refuse(path, reason);
    for (const member of unread) notes.unread(member);
    if (!("refusal" in result)) return result;
    throw result.isForeign ? new ForeignRecord(result.refusal) : new FeedRefusal(result.refusal);
  } finally {
    void thread.terminate();
  }
}
