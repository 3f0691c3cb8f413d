/**
 * Page tokens (AIP-158). A token holds the query that it continues and the key of the last row returned. It is
 * encrypted with AES-256-GCM, so that clients can neither read nor make tokens, and valid for one method. It grants
 * nothing: scopes are evaluated for every page.
 */
import { LruMap } from "../lru-map.ts";
import { createSecrets } from "../sealing.ts";
import type { ScalarValue } from "../store/index.ts";

/** How long a token is valid. An older one is not an error; it restarts its query. */
export const pageTokenLifeMs = 3 * 24 * 60 * 60 * 1000;

/** The content of a token. */
export interface PageToken {
  /** `platform.registry.v2.ReposService.ListRepos`. */
  readonly method: string;
  /** The values of the order columns of the last row returned, then its uid. */
  readonly after: readonly ScalarValue[];
  readonly issueTimeMs: number;
  /** The encoded request without paging fields; only its SHA-256 when it is larger than 2 KiB. */
  readonly query: { readonly encoded: Uint8Array } | { readonly digest: Uint8Array };
}

/** Seals and opens page tokens. */
export interface PageTokens {
  seal(token: PageToken): string;
  /** undefined for any text that was not sealed with this key. */
  open(text: string): PageToken | undefined;
}

/**
 * Issue times are rounded up to the minute, so that the token of a page stays the same for a while and is encrypted
 * once. No token is valid for less than its lifetime.
 */
const precisionMs = 60_000;
const maxCached = 1000;

/** Page tokens are not bound to a row. */
const context = "";

/** Page tokens sealed with `key` of 32 bytes. Servers with the same key accept each other's tokens. */
export function createPageTokens(key: Uint8Array): PageTokens {
  const secrets = createSecrets([key]);
  const cache = new LruMap<string, string>(maxCached);
  return {
    seal({ method, after, issueTimeMs, query }) {
      const [kind, bytes] = "digest" in query ? ["d", query.digest] : ["q", query.encoded];
      const encoded = Buffer.from(bytes).toString("base64url");
      const minute = Math.ceil(issueTimeMs / precisionMs) * precisionMs;
      const text = JSON.stringify([method, after, minute, kind, encoded]);
      let sealed = cache.get(text);
      if (sealed === undefined) {
        sealed = secrets.seal(text, context);
        cache.set(text, sealed);
      }
      return sealed;
    },
    open(text) {
      const isCanonical = Buffer.from(text, "base64url").toString("base64url") === text;
      const opened = isCanonical ? secrets.open(text, context) : undefined;
      if (opened === undefined) return undefined;
      const [method, after, issueTimeMs, kind, encoded] = JSON.parse(opened);
      const bytes = Buffer.from(encoded, "base64url");
      return { method, after, issueTimeMs, query: kind === "d" ? { digest: bytes } : { encoded: bytes } };
    },
  };
}
