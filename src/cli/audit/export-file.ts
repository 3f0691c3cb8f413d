/**
 * A file that records are appended to, one JSON object each. At a size it is renamed to `FILE.1`, and `FILE.1` to
 * `FILE.2`. Its own records say where to go on, so that a process that was killed loses and repeats none.
 */
import {
  closeSync,
  createReadStream,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createInterface } from "node:readline";
import type { AuditLine } from "../../audit/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { maxLateMs } from "./follow.ts";

/** An open file. */
export interface ExportFile {
  /**
   * From when on it may miss records, milliseconds since 1970: the time of its latest one, less how late others come.
   */
  readonly sinceMs: number;
  /** The records since then that it has, by id, with their times. */
  readonly known: ReadonlyMap<string, number>;
  append(line: AuditLine): void;
  close(): void;
}

/** When the file is renamed, and how many renamed files are kept. */
export interface Rotation {
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/**
 * Opens a file, and creates it for its owner alone if there is none. Errors: CommandFailure while another process
 * writes it, or when it has other lines; those of the file system.
 */
export async function openExport(path: string, { maxBytes, maxFiles }: Rotation): Promise<ExportFile> {
  const unlock = lock(path);
  try {
    const latest = await latestRecords(path, maxFiles);
    let file = openToAppend(path);
    dropPartialLine(file);
    let size = fstatSync(file).size;
    return {
      ...latest,
      append(line) {
        const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
        if (size > 0 && size + bytes.length > maxBytes) {
          closeSync(file);
          rename(path, maxFiles);
          file = openToAppend(path);
          size = 0;
        }
        for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
        size += bytes.length;
      },
      close() {
        closeSync(file);
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

function openToAppend(path: string): number {
  return openSync(path, "a+", 0o600);
}

/** Makes room at `path`. After an interruption a number may be missing, and no file is overwritten. */
function rename(path: string, maxFiles: number): void {
  rmSync(`${path}.${maxFiles}`, { force: true });
  for (let i = maxFiles - 1; i >= 0; i--) {
    const from = i === 0 ? path : `${path}.${i}`;
    if (existsSync(from)) renameSync(from, `${path}.${i + 1}`);
  }
}

/** Removes what a killed process has left of a line at the end. */
function dropPartialLine(file: number): void {
  const { size } = fstatSync(file);
  const chunk = Buffer.alloc(64 * 1024);
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunk.length);
    const count = readSync(file, chunk, 0, end - start, start);
    const last = chunk.subarray(0, count).lastIndexOf(0x0a);
    if (last >= 0 || start === 0) {
      const whole = start + last + 1;
      if (whole < size) ftruncateSync(file, whole);
      return;
    }
    end = start;
  }
}

/** Reads the file, and those before it as far as they have late records. */
async function latestRecords(path: string, maxFiles: number): Promise<Pick<ExportFile, "sinceMs" | "known">> {
  let known = new Map<string, number>();
  let sinceMs = 0;
  for (let i = 0; i <= maxFiles; i++) {
    const name = i === 0 ? path : `${path}.${i}`;
    if (!existsSync(name)) continue;
    const records = await recordsIn(name);
    const newestOfFileMs = [...records.values()].reduce((most, timeMs) => Math.max(most, timeMs), 0);
    sinceMs = Math.max(sinceMs, Math.min(newestOfFileMs, Date.now()) - maxLateMs);
    known = new Map([...known, ...records].filter(([, timeMs]) => timeMs >= sinceMs));
    if (records.size > 0 && newestOfFileMs < sinceMs) break;
  }
  return { sinceMs, known };
}

/** The records of a file that are at most so much older than those before them, by id. */
async function recordsIn(path: string): Promise<Map<string, number>> {
  const records = new Map<string, number>();
  let newestMs = 0;
  let number = 0;
  let bad = 0; // the number of a line that is not a record; the last may be the part of one
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    number++;
    const record = recordOf(line);
    if (bad > 0 || (record === undefined && !line.startsWith('{"time":')))
      throw new CommandFailure(
        `--output: line ${bad || number} of ${path} is not an audit record; choose another file`,
      );
    if (record === undefined) {
      bad = number;
      continue;
    }
    records.set(record.id, record.timeMs);
    newestMs = Math.max(newestMs, Math.min(record.timeMs, Date.now()));
    if (number % 10_000 === 0)
      for (const [id, timeMs] of records) if (timeMs < newestMs - maxLateMs) records.delete(id);
  }
  return records;
}

function recordOf(line: string): { readonly id: string; readonly timeMs: number } | undefined {
  try {
    const { id, time } = JSON.parse(line);
    const timeMs = Date.parse(time);
    return typeof id === "string" && !Number.isNaN(timeMs) ? { id, timeMs } : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps other processes from writing the file, until it is called. Errors: CommandFailure. */
function lock(path: string): () => void {
  const name = `${path}.lock`;
  try {
    const pid = Number(readFileSync(name, "utf8"));
    if (pid !== process.pid && isRunning(pid))
      throw new CommandFailure(`--output: process ${pid} writes ${path} already (${name})`);
    rmSync(name, { force: true }); // its process was killed
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  writeFileSync(name, String(process.pid), { flag: "wx", mode: 0o600 });
  return () => rmSync(name, { force: true });
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
