/**
 * Page tokens (AIP-158). A token is the query it continues and the last key that was answered, sealed with AES-256-GCM so that a client can
 * neither read nor make one, and bound to its method. It grants nothing: scopes are evaluated afresh for every page.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** A token's life; an older one is no error, its query restarts. */
export const pageTokenLifeMs = 3 * 24 * 60 * 60 * 1000;

/** What a token carries. */
export interface PageToken {
  /** `platform.registry.v2.ReposService.ListRepos`. */
  readonly method: string;
  /** Values of the order's columns in the last row answered, its uid last. */
  readonly after: readonly (string | number | null)[];
  readonly issueTimeMs: number;
  /** The request without paging fields, encoded; only its SHA-256 when it is larger than 2 KiB. */
  readonly query: { readonly encoded: Uint8Array } | { readonly digest: Uint8Array };
}

/** Seals and opens page tokens. */
export interface PageTokens {
  seal(token: PageToken): string;
  /** undefined for anything that this key did not seal. */
  open(text: string): PageToken | undefined;
}

const version = 1;
const ivBytes = 12;
const tagBytes = 16;

/** `key`: 32 bytes; servers with the same key take each other's tokens. */
export function createPageTokens(key: Uint8Array): PageTokens {
  return {
    seal(token) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv("aes-256-gcm", key, iv);
      const [kind, bytes] = "digest" in token.query ? ["d", token.query.digest] : ["q", token.query.encoded];
      const query = Buffer.from(bytes).toString("base64url");
      const text = JSON.stringify([token.method, token.after, token.issueTimeMs, kind, query]);
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), sealed]).toString("base64url");
    },
    open(text) {
      const bytes = Buffer.from(text, "base64url");
      if (bytes[0] !== version || bytes.length <= 1 + ivBytes + tagBytes || bytes.toString("base64url") !== text)
        return undefined;
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(1, 1 + ivBytes));
      decipher.setAuthTag(bytes.subarray(1 + ivBytes, 1 + ivBytes + tagBytes));
      try {
        const opened = Buffer.concat([decipher.update(bytes.subarray(1 + ivBytes + tagBytes)), decipher.final()]);
        const [method, after, issueTimeMs, kind, query] = JSON.parse(opened.toString("utf8"));
        const decoded = Buffer.from(query, "base64url");
        return { method, after, issueTimeMs, query: kind === "d" ? { digest: decoded } : { encoded: decoded } };
      } catch {
        return undefined; // not sealed by this key: the caller answers INVALID_ARGUMENT
      }
    },
  };
}
