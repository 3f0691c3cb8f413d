/**
 * Encryption of backups: AES-256-GCM in chunks, as in the STREAM construction (Hoang, Reyhanitabar, Rogaway, Vizár
 * 2015).
 *
 *     chunk i = ciphertext of 64 KiB, the last one of 0 to 64 KiB, followed by its tag of 16 bytes
 *     nonce   = i, 11 bytes big-endian, and a byte that is 1 for the last chunk and 0 for the others
 *     key     = HKDF-SHA-256(key of the operator, salt, info), of 32 bytes
 *
 * So chunks that are altered, moved, left out or added do not open, nor does a file that ends early. The key differs
 * for each salt and for each `info`, the header of the file, which is thereby authenticated.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from "node:crypto";
import { Transform } from "node:stream";
import { CommandFailure } from "../../command/index.ts";

/** The size of the text of a chunk. */
export const chunkBytes = 64 * 1024;
export const cipherName = "aes-256-gcm";
const tagBytes = 16;

/** The key of one file. @param info authenticated with it, at most 1024 bytes. */
export function fileKey(key: Uint8Array, salt: Uint8Array, info: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, salt, info, 32));
}

/** Identifies a key without revealing anything about it: 8 hex digits. */
export function keyId(key: Uint8Array): string {
  return Buffer.from(hkdfSync("sha256", key, "", "platform-backup key id", 4)).toString("hex");
}

/** Encrypts a stream with the key of the file. */
export function sealing(key: Uint8Array): Transform {
  return inChunks(chunkBytes, (chunk, index, isLast) => {
    const cipher = createCipheriv(cipherName, key, nonceOf(index, isLast));
    return Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]);
  });
}

/** Decrypts a stream. Errors: CommandFailure for a chunk that does not open. */
export function opening(key: Uint8Array): Transform {
  return inChunks(chunkBytes + tagBytes, (chunk, index, isLast) => {
    try {
      const decipher = createDecipheriv(cipherName, key, nonceOf(index, isLast), { authTagLength: tagBytes });
      const end = Math.max(0, chunk.length - tagBytes);
      decipher.setAuthTag(chunk.subarray(end));
      return Buffer.concat([decipher.update(chunk.subarray(0, end)), decipher.final()]);
    } catch {
      throw new CommandFailure("the backup is damaged: a part of it was altered, or its end is missing");
    }
  });
}

/** Splits a stream into chunks of one size; the last one may be shorter. */
function inChunks(size: number, convert: (chunk: Buffer, index: number, isLast: boolean) => Buffer): Transform {
  let pending: Buffer[] = [];
  let bytes = 0;
  let index = 0;
  return new Transform({
    transform(data: Buffer, _encoding, done) {
      pending.push(data);
      bytes += data.length;
      try {
        // A chunk is converted once it is known not to be the last one.
        if (bytes > size) {
          const all = Buffer.concat(pending);
          let at = 0;
          for (; all.length - at > size; at += size) this.push(convert(all.subarray(at, at + size), index++, false));
          pending = [all.subarray(at)];
          bytes -= at;
        }
        done();
      } catch (error) {
        done(error as Error);
      }
    },
    flush(done) {
      try {
        done(null, convert(Buffer.concat(pending), index, true));
      } catch (error) {
        done(error as Error);
      }
    },
  });
}

function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(index, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}
