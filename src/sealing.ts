/**
 * Secrets in rows, sealed with AES-256-GCM so that neither a copy of the database nor its backup shows them:
 *
 *     base64url( version (1 byte)  IV (12)  tag (16)  ciphertext )      additional authenticated data: the place
 *
 * The place is the row and field of a secret, so that a copy in another row or field does not open. The first key
 * seals, and all keys open: when a setting gives a key, it replaces the database's own, which still opens older
 * secrets.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from "node:crypto";

/** Seals and opens secrets. */
export interface Secrets {
  /** @param place the uid of the resource that has the secret, and the field: `<uid> client_secret`. */
  seal(secret: string, place: string): string;
  /** The secret; undefined if none of the keys sealed it for this place. */
  open(sealed: string, place: string): string | undefined;
}

const algorithm = "aes-256-gcm";
const version = 1;
const ivBytes = 12;
const tagBytes = 16;

/** @param keys at least one, of 32 bytes each. */
export function createSecrets(keys: readonly Uint8Array[]): Secrets {
  const prepared = keys.map((key) => createSecretKey(key)); // bytes would be checked at every use
  const [sealing] = prepared;
  if (sealing === undefined) throw new Error("secrets need a key");
  return {
    seal(secret, place) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, sealing, iv).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), sealed]).toString("base64url");
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed, "base64url");
      if (bytes[0] !== version || bytes.length < 1 + ivBytes + tagBytes) return undefined;
      for (const key of prepared) {
        const decipher = createDecipheriv(algorithm, key, bytes.subarray(1, 1 + ivBytes), { authTagLength: tagBytes });
        decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(1 + ivBytes, 1 + ivBytes + tagBytes));
        try {
          const opened = decipher.update(bytes.subarray(1 + ivBytes + tagBytes));
          return Buffer.concat([opened, decipher.final()]).toString("utf8");
        } catch {
          // sealed by another key, or forged
        }
      }
      return undefined;
    },
  };
}
