/** The thread that reads a bill of materials. */
import { parentPort, workerData } from "node:worker_threads";
import { FeedRefusal, ForeignRecord } from "../../source/refusal.ts";
import type { FromSbomThread } from "./read-on-thread.ts";
import { readSbom } from "./sbom.ts";

const refused: [path: string, reason: string][] = [];
const unread: string[] = [];

function read(): FromSbomThread["result"] {
  try {
    return readSbom(workerData as Uint8Array, {
      refuse: (path, reason) => refused.push([path, reason]),
      unread: (member) => unread.push(member),
    });
  } catch (error) {
    if (!(error instanceof FeedRefusal)) throw error;
    return { refusal: error.message, isForeign: error instanceof ForeignRecord };
  }
}

const answer: FromSbomThread = { result: read(), refused, unread };
parentPort?.postMessage(answer);
