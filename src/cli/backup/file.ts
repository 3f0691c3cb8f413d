/**
 * The format of a backup:
 *
 *     line 1   the header, JSON
 *     line 2   the SHA-256 of line 1 without its line feed, in hex
 *     rest     the database file, compressed by Zstandard, then encrypted as `seal.ts` says if the header has a salt
 *
 * So `tail -n +3 FILE | zstd -d > platform.db` restores one that is not encrypted without this program.
 */
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { PassThrough, Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { CommandFailure } from "../../command/index.ts";
import { chunkBytes, cipherName, fileKey, keyId, opening, sealing } from "./seal.ts";

/** What the header says about the database. */
export interface BackupFacts {
  /** The version of the program that made it. */
  readonly product: string;
  /** When it began, in RFC 3339. */
  readonly time: string;
  /** The names of the migrations, in order. */
  readonly schema: readonly string[];
  /** The number of rows of each table. */
  readonly tables: Readonly<Record<string, number>>;
  /** Of the database file. */
  readonly bytes: number;
  readonly sha256: string;
}

/** The first line. */
export interface BackupHeader extends BackupFacts {
  readonly format: "platform-backup";
  readonly version: 1;
  readonly compression: "zstd";
  readonly encryption?: Encryption;
}

interface Encryption {
  readonly cipher: typeof cipherName;
  readonly chunkBytes: typeof chunkBytes;
  /** Hex. */
  readonly salt: string;
  readonly keyId: string;
}

/** A backup whose header has been read. */
export interface OpenBackup {
  readonly header: BackupHeader;
  /** Compares the database with the header, and writes it to a new file, if one is named. Errors: CommandFailure. */
  extract(to: string | undefined, progress: (bytes: number) => void, signal: AbortSignal): Promise<void>;
}

/** Readable by its owner only: it has the signing keys. */
export const mode = 0o600;
const maxHeaderBytes = 1024 * 1024;
const damaged = (what: string) => new CommandFailure(`the backup is damaged: ${what}`);

/** The SHA-256 of a file, in hex. */
export async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/** Writes a backup of the database file at `from` to a new file, and flushes it to disk. */
export async function writeBackup(
  { from, to, key }: { readonly from: string; readonly to: string; readonly key: Uint8Array | undefined },
  facts: BackupFacts,
  throttle: Transform,
  signal: AbortSignal,
): Promise<void> {
  const salt = randomBytes(16);
  const encryption: Encryption | undefined = key && {
    cipher: cipherName,
    chunkBytes,
    salt: salt.toString("hex"),
    keyId: keyId(key),
  };
  const described: BackupHeader = {
    format: "platform-backup",
    version: 1,
    ...facts,
    compression: "zstd",
    ...(encryption && { encryption }),
  };
  const header = JSON.stringify(described);
  const seal = key === undefined ? new PassThrough() : sealing(fileKey(key, salt, digest(header)));
  const target = createWriteStream(to, { mode, flags: "wx", flush: true });
  target.write(`${header}\n${digest(header)}\n`);
  await pipeline(createReadStream(from), throttle, createZstdCompress(), seal, target, { signal });
}

/** Reads the header of a backup. Errors: CommandFailure when the file is not a backup, or the key does not fit. */
export async function openBackup(path: string, key: Uint8Array | undefined): Promise<OpenBackup> {
  const { header, checksum, start } = await readHeader(path);
  const { encryption } = header;
  if (encryption === undefined && key !== undefined)
    throw new CommandFailure("the backup is not encrypted: leave out --encrypt-key, if this is the file you expect");
  if (encryption !== undefined && key === undefined)
    throw new CommandFailure(`the backup is encrypted with the key ${encryption.keyId}: give it by --encrypt-key`);
  if (encryption !== undefined && key !== undefined && encryption.keyId !== keyId(key))
    throw new CommandFailure(`the backup is encrypted with the key ${encryption.keyId}, not with ${keyId(key)}`);
  const openingKey = key && encryption && fileKey(key, Buffer.from(encryption.salt, "hex"), checksum);
  return {
    header,
    async extract(to, progress, signal) {
      const hash = createHash("sha256");
      let bytes = 0;
      const measure = new Transform({
        transform(data: Buffer, _encoding, done) {
          hash.update(data);
          bytes += data.length;
          progress(bytes);
          done(bytes > header.bytes ? damaged("it has more than its header says") : null, data);
        },
      });
      const expand = createZstdDecompress();
      const open = openingKey === undefined ? new PassThrough() : opening(openingKey);
      const target = to === undefined ? nowhere() : createWriteStream(to, { mode, flags: "wx", flush: true });
      try {
        await pipeline(createReadStream(path, { start }), open, expand, measure, target, { signal });
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code?.startsWith("ZSTD_") || code === "Z_BUF_ERROR" || code === "ERR_TRAILING_JUNK_AFTER_STREAM_END")
          throw damaged("a part of it was altered, or its end is missing");
        throw error;
      }
      if (bytes < header.bytes) throw damaged(`it ends after ${bytes} of ${header.bytes} bytes`);
      // What was added to an encrypted one does not open; the decompressor leaves it.
      if (openingKey === undefined && expand.bytesWritten !== statSync(path).size - start)
        throw damaged("something was added to its end");
      if (hash.digest("hex") !== header.sha256) throw damaged("its SHA-256 is not that of its header");
    },
  };
}

function nowhere(): Writable {
  return new Writable({ write: (_data, _encoding, done) => done() });
}

/** The first two lines of a backup, and where the rest starts. Errors: CommandFailure when the file is not a backup. */
export async function readHeader(path: string): Promise<{ header: BackupHeader; checksum: string; start: number }> {
  const file: FileHandle = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxHeaderBytes), 0, maxHeaderBytes, 0);
    const head = buffer.subarray(0, bytesRead);
    const first = head.indexOf("\n");
    const second = head.indexOf("\n", first + 1);
    if (first < 0 || second < 0) throw new CommandFailure(`${path} is not a backup of this program`);
    const line = head.toString("utf8", 0, first);
    const checksum = head.toString("utf8", first + 1, second);
    return { header: parseHeader(path, line, checksum), checksum, start: second + 1 };
  } finally {
    await file.close();
  }
}

function parseHeader(path: string, line: string, checksum: string): BackupHeader {
  if (!line.startsWith('{"format":"platform-backup"'))
    throw new CommandFailure(`${path} is not a backup of this program`);
  if (digest(line) !== checksum) throw damaged("its header was altered");
  const header = JSON.parse(line) as BackupHeader;
  if (header.version !== 1 || header.compression !== "zstd")
    throw new CommandFailure(`the backup has version ${header.version} of the format: restore it with a newer program`);
  return header;
}

function digest(line: string): string {
  return createHash("sha256").update(line).digest("hex");
}
