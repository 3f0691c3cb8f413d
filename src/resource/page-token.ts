/**
 * Page tokens (AIP-158). A token is the query it continues and the last key that was answered, sealed with AES-256-GCM so that a client can
 * neither read nor make one, and bound to its method. It grants nothing: scopes are evaluated afresh for every page.
 */
import { RecentMap } from "../recent-map.ts";
import type { ScalarValue } from "../store/index.ts";
import { createSecrets } from "./secrets.ts";

/** A token's life; an older one is no error, its query restarts. */
export const pageTokenLifeMs = 3 * 24 * 60 * 60 * 1000;

/** What a token carries. */
export interface PageToken {
  /** `platform.registry.v2.ReposService.ListRepos`. */
  readonly method: string;
  /** Values of the order's columns in the last row answered, its uid last. */
  readonly after: readonly ScalarValue[];
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

/**
 * Issue times are rounded up to the minute, so that the same page has the same token for a while and is sealed once, and no token lives less than
 * its life.
 */
const precisionMs = 60_000;
const maxRemembered = 1000;

/** A token belongs to no row; what it belongs to stands in it. */
const place = "";

/** `key`: 32 bytes; servers with the same key take each other's tokens. */
export function createPageTokens(key: Uint8Array): PageTokens {
  const secrets = createSecrets([key]);
  const remembered = new RecentMap<string, string>(maxRemembered);
  return {
    seal({ method, after, issueTimeMs, query }) {
      const [kind, bytes] = "digest" in query ? ["d", query.digest] : ["q", query.encoded];
      const encoded = Buffer.from(bytes).toString("base64url");
      const minute = Math.ceil(issueTimeMs / precisionMs) * precisionMs;
      const text = JSON.stringify([method, after, minute, kind, encoded]);
      let sealed = remembered.get(text);
      if (sealed === undefined) {
        sealed = secrets.seal(text, place);
        remembered.set(text, sealed);
      }
      return sealed;
    },
    open(text) {
      const isCanonical = Buffer.from(text, "base64url").toString("base64url") === text;
      const opened = isCanonical ? secrets.open(text, place) : undefined;
      if (opened === undefined) return undefined; // not sealed by this key: the caller answers INVALID_ARGUMENT
      const [method, after, issueTimeMs, kind, encoded] = JSON.parse(opened);
      const bytes = Buffer.from(encoded, "base64url");
      return { method, after, issueTimeMs, query: kind === "d" ? { digest: bytes } : { encoded: bytes } };
    },
  };
}
