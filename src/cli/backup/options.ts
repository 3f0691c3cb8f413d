/** What backups and restores have in common: the database's path, the key, temporary files, the space on the disk. */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CommandFailure } from "../../command/index.ts";
import { ConfigError, parseKey, readSecret } from "../../config/index.ts";
import { databasePath } from "../../store/index.ts";

/** The path of the SQLite database. @param instead what to use for another database. */
export function sqlitePath(url: string, instead: string): string {
  if (/^postgres(ql)?:/.test(url)) throw new CommandFailure(instead);
  const path = databasePath(url);
  if (path === undefined) throw new CommandFailure("an in-memory database exists only in the server that opened it");
  return path;
}

/** The key of `--encrypt-key`: 64 hex digits, or a file with them. Errors: ConfigError. */
export function parseEncryptKey(text: string | undefined): Uint8Array | undefined {
  if (text === undefined) return undefined;
  try {
    return parseKey(/^[0-9a-fA-F]{64}$/.test(text) ? text : readSecret(text).trim());
  } catch (error) {
    throw new ConfigError(`--encrypt-key: ${(error as Error).message}`);
  }
}

/**
 * A new name for a temporary file beside `path`. Those that killed commands have left are removed, as are those of a
 * command that still runs for the same path, which then fails.
 */
export function partialOf(path: string): string {
  removePartials(path);
  return `${path}.partial-${randomBytes(4).toString("hex")}`;
}

/** Removes all temporary files beside `path`. */
export function removePartials(path: string): void {
  const folder = dirname(path);
  const prefix = `${basename(path)}.partial-`;
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (name.startsWith(prefix)) rmSync(join(folder, name), { force: true });
}

/** Errors: CommandFailure when the file system of `folder` has less than `bytes` left. */
export function requireSpace(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < bytes)
    throw new CommandFailure(`${folder} has ${sizeText(bavail * bsize)} left, ${sizeText(bytes)} are needed`);
}

/** `12.3 MiB`. */
export function sizeText(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${unit === 0 ? bytes : (bytes / 1024 ** unit).toFixed(1)} ${units[unit]}`;
}
