/** Bare SQLite: inserts rows one after another, each in a durable transaction. */
import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { newUid } from "../../src/new-uid.ts";
import { peerSchema } from "../data.ts";
import type { Measured } from "../load.ts";

/** Inserts rows for `durationMs`. */
export function bareInserts(path: string, durationMs: number): Measured {
  rmSync(path, { force: true });
  const database = new DatabaseSync(path);
  database.exec(`pragma journal_mode = wal; pragma synchronous = full; ${peerSchema}`);
  const insert = database.prepare("insert into repos values (?, ?, ?, ?, ?, ?)");
  const parent = newUid("");
  const times: number[] = [];
  const startMs = performance.now();
  for (let endMs = startMs; endMs - startMs < durationMs; ) {
    const beganMs = endMs;
    insert.run(newUid(parent), parent, `made-${times.length}`, "", Date.now() * 1000, Date.now() * 1000);
    endMs = performance.now();
    times.push(endMs - beganMs);
  }
  database.close();
  times.sort((a, b) => a - b);
  const at = (part: number) => times[Math.floor(times.length * part)] ?? Number.NaN;
  return { perSecond: times.length / (durationMs / 1000), medianMs: at(0.5), p99Ms: at(0.99), answers: times.length };
}
