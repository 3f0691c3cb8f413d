/** `platform backup`: copies a SQLite database to a file while servers use it. */
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Transform } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { Command } from "commander";
import { CommandFailure, stopSignal, wholeNumber } from "../../command/index.ts";
import { copyDatabase, inspectCopy, syncFolder } from "../../store/index.ts";
import { version } from "../../version.ts";
import { auditRun } from "../database.ts";
import { settingsOf, withSettings } from "../settings.ts";
import { type BackupFacts, digestOfFile, mode, readHeader, writeBackup } from "./file.ts";
import { parseEncryptKey, partialOf, requireSpace, sizeText, sqlitePath } from "./options.ts";
import { contentsText, Progress } from "./report.ts";

const mib = 1024 * 1024;
/** Half of what a slow disk takes, so that commits of the server do not wait long for it. */
const defaultMibPerSecond = 32;

interface Options {
  readonly encryptKey?: string;
  readonly rate: number;
  readonly force?: boolean;
}

export function makeCommand(): Command {
  const command = withSettings(new Command("backup"), ["database"])
    .description(
      "copy a SQLite database, as it is at this moment, to a file for `platform restore`, while servers use it, and check the copy. " +
        "The file contains the signing keys: keep it as safe as the database, or encrypt it. " +
        "For PostgreSQL see docs/backup.md",
    )
    .argument("<FILE>")
    .option(
      "--encrypt-key <FILE|HEX>",
      "encrypt with this key of 64 hex digits; other users see arguments, but not files",
    )
    .option("--rate <MIB>", "MiB to copy in a second", wholeNumber(1, 100_000), defaultMibPerSecond)
    .option("--force", "replace FILE if it exists");
  return command.action(async (name: string) => {
    const { encryptKey, rate, force } = command.opts<Options>();
    const source = sqlitePath(
      settingsOf(command).database,
      "--database: PostgreSQL is backed up by pg_dump or by an archive of its log, see docs/backup.md; `platform export` writes a snapshot that any database can import",
    );
    const key = parseEncryptKey(encryptKey);
    const bytesPerSecond = rate * mib;
    const file = resolve(name);
    await requireFree(file, force);
    const { signal, release } = stopSignal();
    const progress = new Progress();
    try {
      const facts = await backUp({ source, file, key, bytesPerSecond, force }, progress, signal);
      await auditRun(command);
      progress.end();
      const { header } = await readHeader(file);
      process.stdout.write(contentsText(header));
      process.stderr.write(`backed up ${sizeText(facts.bytes)} to ${file}, ${sizeText(statSync(file).size)}\n`);
    } finally {
      progress.end();
      release();
    }
  });
}

interface Job {
  readonly source: string;
  readonly file: string;
  readonly key: Uint8Array | undefined;
  readonly bytesPerSecond: number;
  readonly force: boolean | undefined;
}

async function backUp(job: Job, progress: Progress, signal: AbortSignal): Promise<BackupFacts> {
  const { source, file, key, bytesPerSecond, force } = job;
  const folder = dirname(file);
  if (!existsSync(source)) throw new CommandFailure(`--database: there is no database at ${source}`);
  const size = statSync(source).size + (statSync(`${source}-wal`, { throwIfNoEntry: false })?.size ?? 0);
  const partial = partialOf(file);
  requireSpace(folder, 2 * size); // the copy, and the file that is made of it
  const copy = `${partial}.db`;
  const time = new Date().toISOString();
  try {
    closeSync(openSync(copy, "wx", mode));
    await copyDatabase(source, copy, {
      bytesPerSecond,
      progress(bytes, total) {
        signal.throwIfAborted();
        progress.step("copying", bytes, total);
      },
    });
    const { schema, tables, counterFaults } = await inspectCopy(copy);
    for (const { table, ancestor, class: counted, rows, counted: count } of counterFaults.slice(0, 1))
      console.error(
        `warning: ${counterFaults.length} counters are wrong: of ${rows} rows of ${table} ${counted} "${ancestor}", ${count} are counted; \`platform doctor --repair\` corrects them`,
      );
    const { size: bytes } = statSync(copy);
    const facts = { product: version(), time, schema, tables, bytes, sha256: await digestOfFile(copy) };
    const throttle = throttled(bytesPerSecond, (done) => progress.step("writing", done, bytes));
    await writeBackup({ from: copy, to: partial, key }, facts, throttle, signal);
    await requireFree(file, force);
    renameSync(partial, file);
    syncFolder(folder);
    return facts;
  } catch (error) {
    if (signal.aborted) throw new CommandFailure(`stopped by ${signal.reason.message}: no backup was made`);
    throw error;
  } finally {
    rmSync(copy, { force: true });
    rmSync(`${copy}-journal`, { force: true });
    rmSync(partial, { force: true });
  }
}

/**
 * Errors: CommandFailure when there is a file that is not to be replaced, or that is not a backup, such as the
 * database.
 */
async function requireFree(file: string, force: boolean | undefined): Promise<void> {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!force) throw new CommandFailure(`${file} exists: choose another name, or --force`);
  if (stat.size > 0) await readHeader(file);
}

/** Passes on at most so many bytes in a second. */
function throttled(bytesPerSecond: number, report: (bytes: number) => void): Transform {
  const startMs = performance.now();
  let bytes = 0;
  return new Transform({
    async transform(data: Buffer, _encoding, done) {
      bytes += data.length;
      report(bytes);
      const waitMs = startMs + (bytes / bytesPerSecond) * 1000 - performance.now();
      if (waitMs > 0) await setTimeout(waitMs);
      done(null, data);
    },
  });
}
