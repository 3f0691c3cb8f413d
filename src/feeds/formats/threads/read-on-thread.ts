/** Reads a large document on a thread: it would block the event loop for long, and with it all calls. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { ReadNotes } from "../../records/read-each.ts";
import { FeedRefusal, ForeignRecord } from "../../source/refusal.ts";
import type { Sbom } from "../sbom/packages.ts";
import { type DocumentKind, type ReadDocument, readers } from "./readers.ts";

/** To the thread. */
export interface ToDocumentThread {
  readonly kind: DocumentKind;
  readonly bytes: Uint8Array;
}

/** From the thread: what the reader has answered. */
export interface FromDocumentThread {
  readonly refused: readonly (readonly [path: string, reason: string])[];
  readonly unread: readonly string[];
  readonly result:
    | { readonly read: ReadDocument<DocumentKind> }
    | { readonly refusal: string; readonly isForeign: boolean };
}

/** Smaller documents are read at once. */
const minThreadBytes = 256 * 1024;

/** As `readSbom`. */
export function readSbomOnThread(bytes: Uint8Array, notes: ReadNotes): Promise<Sbom> {
  return readOnThread("sbom", bytes, notes);
}

/** Reads a document by the reader of its kind. Errors: those of the reader; FeedRefusal if it needs too much memory. */
export async function readOnThread<K extends DocumentKind>(
  kind: K,
  bytes: Uint8Array,
  notes: ReadNotes,
): Promise<ReadDocument<K>> {
  if (bytes.length < minThreadBytes) return readers[kind](bytes, notes) as ReadDocument<K>;
  const workerData: ToDocumentThread = { kind, bytes };
  const thread = new Worker(new URL(`./document-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData,
    execArgv: [],
  });
  const answered = Promise.withResolvers<FromDocumentThread>();
  thread.on("message", answered.resolve);
  thread.on("error", (error: NodeJS.ErrnoException) =>
    answered.reject(
      error.code === "ERR_WORKER_OUT_OF_MEMORY" ? new FeedRefusal("needs too much memory", { cause: error }) : error,
    ),
  );
  thread.on("exit", () => answered.reject(new Error("the thread that reads a document has ended")));
  try {
    const { refused, unread, result } = await answered.promise;
    for (const [path, reason] of refused) notes.refuse(path, reason);
    for (const member of unread) notes.unread(member);
    if ("read" in result) return result.read as ReadDocument<K>;
    throw result.isForeign ? new ForeignRecord(result.refusal) : new FeedRefusal(result.refusal);
  } finally {
    void thread.terminate();
  }
}
