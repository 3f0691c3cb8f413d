/** `platform restore`: checks a backup and puts it in the place of the database. */
import { existsSync, mkdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Command } from "commander";
import { CommandFailure, stopSignal } from "../../command/index.ts";
import { holdDatabase, inspectCopy, isDatabaseInUse, unknownMigrations } from "../../store/index.ts";
import { auditRun } from "../database.ts";
import { settingsOf, withSettings } from "../settings.ts";
import { type OpenBackup, openBackup } from "./file.ts";
import { parseEncryptKey, partialOf, requireSpace, sqlitePath } from "./options.ts";
import { contentsText, Progress } from "./report.ts";

interface Options {
  readonly encryptKey?: string;
  readonly verify?: boolean;
  readonly force?: boolean;
}

const onPostgres =
  "--database: a backup of SQLite cannot be restored to PostgreSQL: `platform import snapshot` reads a file of `platform export`";

/** How a restore reports its progress, and is stopped. */
interface Run {
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

export function makeCommand(): Command {
  const command = withSettings(new Command("restore"), ["database"])
    .description(
      "check a file of `platform backup` and put it in the place of a SQLite database that no server uses. " +
        "The server must run with the same --secret-key as before, if it had one",
    )
    .argument("<FILE>")
    .option("--encrypt-key <FILE|HEX>", "the key that the backup was encrypted with")
    .option("--verify", "only check the file and print what it has")
    .option("--force", "replace a database that exists; it is kept as DATABASE.before-restore-TIME");
  return command.action(async (name: string) => {
    const { encryptKey, verify = false, force = false } = command.opts<Options>();
    const { database } = settingsOf(command);
    const file = resolve(name);
    const backup = await openBackup(file, parseEncryptKey(encryptKey));
    const { signal, release } = stopSignal();
    const progress = new Progress();
    try {
      const done = verify
        ? await verifyFile(backup, { progress, signal })
        : await restore(backup, realPath(sqlitePath(database, onPostgres)), { force, progress, signal });
      if (!verify) await auditRun(command);
      progress.end();
      process.stdout.write(contentsText(backup.header));
      process.stderr.write(`${done}\n`);
    } catch (error) {
      if (signal.aborted) throw new CommandFailure(`stopped by ${signal.reason.message}: nothing was restored`);
      throw error;
    } finally {
      progress.end();
      release();
    }
  });
}

/** The path that a database has behind symbolic links, as SQLite uses it. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}

async function verifyFile(backup: OpenBackup, { progress, signal }: Run): Promise<string> {
  const { bytes } = backup.header;
  await backup.extract(undefined, (done) => progress.step("checking", done, bytes), signal);
  return "the backup is whole";
}

/** Returns what was done. Until the file is checked and on disk, nothing is changed but a temporary file. */
async function restore(
  backup: OpenBackup,
  path: string,
  { force, progress, signal }: Run & { readonly force: boolean },
): Promise<string> {
  const { bytes, schema, tables } = backup.header;
  const unknown = unknownMigrations(schema);
  if (unknown.length > 0)
    throw new CommandFailure(
      `the backup is of a newer version, it has ${unknown.join(", ")}: restore it with that one`,
    );
  await requireReplaceable(path, force);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const partial = partialOf(path);
  requireSpace(dirname(path), bytes);
  try {
    await backup.extract(partial, (done) => progress.step("restoring", done, bytes), signal);
    const found = await inspectCopy(partial);
    if (JSON.stringify(found.tables) !== JSON.stringify(tables) || found.schema.join() !== schema.join())
      throw new CommandFailure("the backup is damaged: its tables are not those of its header");
    signal.throwIfAborted();
    const held = await holdDatabase(path);
    try {
      const old = held.replaceBy(partial);
      return `restored ${path}${old === undefined ? "" : `; the database before it is ${old}`}`;
    } finally {
      held.release();
    }
  } finally {
    rmSync(partial, { force: true });
  }
}

/** Errors: CommandFailure when there is a database, unless it is to be replaced and nothing uses it. */
async function requireReplaceable(path: string, force: boolean): Promise<void> {
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  if (!force)
    throw new CommandFailure(`--database: ${path} is not empty: name another database, or --force keeps it aside`);
  if (await isDatabaseInUse(path))
    throw new CommandFailure(`--database: ${path} is open in another process: stop the server first`);
}
