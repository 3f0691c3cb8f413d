/** The thread that reads a document. */
import { parentPort, workerData } from "node:worker_threads";
import { FeedRefusal, ForeignRecord } from "../../source/refusal.ts";
import type { FromDocumentThread, ToDocumentThread } from "./read-on-thread.ts";
import { readers } from "./readers.ts";

const refused: [path: string, reason: string][] = [];
const unread: string[] = [];

function read(): FromDocumentThread["result"] {
  const { kind, bytes } = workerData as ToDocumentThread;
  try {
    const read = readers[kind](bytes, {
      refuse: (path, reason) => refused.push([path, reason]),
      unread: (member) => unread.push(member),
    });
    return { read };
  } catch (error) {
    if (!(error instanceof FeedRefusal)) throw error;
    return { refusal: error.message, isForeign: error instanceof ForeignRecord };
  }
}

const answer: FromDocumentThread = { result: read(), refused, unread };
parentPort?.postMessage(answer);
