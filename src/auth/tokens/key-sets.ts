/**
 * The published keys of other issuers, found by OpenID Connect Discovery 1.0:
 *
 *     <issuer>/.well-known/openid-configuration  →  its `issuer` must be the same  →  its `jwks_uri`  →  the key set
 *
 * Tenants choose the issuers. So a fetch follows the rules of `outbound.ts`, takes at most 5 s and 256 KiB for each
 * document, and happens at most once in 30 s for an issuer, whether or not it succeeds. Requests that need the same
 * keys share a fetch. A key set is trusted for ten minutes and dropped when it cannot be renewed. A key that is not in
 * the set renews it early.
 *
 * A fetch costs more than everything else about a token, and the maker of a token chooses its issuer among those
 * that rules name or have a pattern for. Issuers whose keys have verified a token are fetched again whenever needed.
 * For all others together there are 2000 fetches in a minute; for those at one origin that no rule names, 10 in 30 s.
 * The 1000 most recently used issuers of either kind are cached, so that neither kind evicts the other.
 */

import { LruMap } from "../../lru-map.ts";
import { fetchLimited, OutboundFailed, OutboundRefused, parseOutboundUrl } from "../../outbound.ts";
import { originOfIssuer } from "./issuer-pattern.ts";
import { type KeySet, parseKeySet, UnknownKey } from "./key-set.ts";
import { type Token, TokenRejected } from "./token.ts";

/** How long a published key set, and a signature that it verified, is trusted. */
export const keySetLifetimeMs = 10 * 60_000;

/** Verifies signatures with the published keys of issuers. */
export interface KeySets {
  /**
   * Verifies the signature of a token with the keys of its `iss`, and fetches them when needed. `isNamed` is false when
   * only a pattern is about the origin of the issuer. `isPatient` is false for a token that other keys have verified:
   * then an issuer that could not be reached the last time is not waited for.
   *
   * Returns the thumbprint of the key. Errors: {@link TokenRejected}, also when the issuer cannot be reached.
   */
  verify(token: Token, isNamed?: boolean, isPatient?: boolean): Promise<string>;
}

/** What {@link createKeySets} needs. */
interface KeySetsOptions {
  readonly allowLoopbackHttp: boolean;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Called for each fetch. `kind`: whether a rule names the issuer, or only has a pattern for it. */
  onFetch?(kind: "named" | "pattern", result: "ok" | "failed"): void;
  /** Replaces the restricted HTTP client, for tests. */
  readonly fetch?: typeof fetchLimited;
}

interface IssuerKeys {
  readonly issuer: string;
  /** Whether its keys have verified a token. */
  isProven: boolean;
  /** Whether the last fetch failed. */
  hasFailed?: boolean;
  keys?: KeySet;
  trustedUntilMs: number;
  nextFetchMs: number;
  pending?: Promise<KeySet> | undefined;
}

const maxIssuers = 1000;
/** How often the keys of an issuer are fetched at most. */
export const fetchIntervalMs = 30_000;
const fetchTimeoutMs = 5000;
const maxDocumentBytes = 256 * 1024;
const unprovenFetches = { count: 2000, windowMs: 60_000 };
const fetchesAtOrigin = { count: 10, windowMs: 30_000 };

/** An empty cache of key sets; it starts no timer. */
export function createKeySets({ allowLoopbackHttp, clock, onFetch, fetch = fetchLimited }: KeySetsOptions): KeySets {
  const proven = new LruMap<string, IssuerKeys>(maxIssuers);
  const unproven = new LruMap<string, IssuerKeys>(maxIssuers);
  const ofUnproven = createQuota(unprovenFetches, clock);
  const ofOrigins = new LruMap<string, () => boolean>(maxIssuers);

  function keysOf(issuer: string): IssuerKeys {
    let known = proven.get(issuer) ?? unproven.get(issuer);
    if (known === undefined) {
      known = { issuer, isProven: false, trustedUntilMs: 0, nextFetchMs: 0 };
      unproven.set(issuer, known);
    }
    return known;
  }

  function refresh(known: IssuerKeys, isNamed: boolean): Promise<KeySet> {
    known.pending ??= renew(known, isNamed).finally(() => {
      known.pending = undefined;
    });
    return known.pending;
  }

  async function renew(known: IssuerKeys, isNamed: boolean): Promise<KeySet> {
    const startMs = clock();
    if (startMs < known.nextFetchMs) throw new TokenRejected("keys were fetched a moment ago");
    if (!known.isProven && !((isNamed || mayFetchAt(originOfIssuer(known.issuer) ?? "")) && ofUnproven()))
      throw new TokenRejected("keys of too many issuers are being fetched");
    known.nextFetchMs = startMs + fetchIntervalMs;
    const kind = isNamed ? "named" : "pattern";
    try {
      known.keys = (await fetchKeySet(known.issuer, { allowLoopbackHttp, fetch })).keys;
    } catch (error) {
      known.hasFailed = true;
      onFetch?.(kind, "failed");
      throw error;
    }
    known.hasFailed = false;
    onFetch?.(kind, "ok");
    known.trustedUntilMs = startMs + keySetLifetimeMs;
    return known.keys;
  }

  function mayFetchAt(origin: string): boolean {
    const quota = ofOrigins.get(origin) ?? createQuota(fetchesAtOrigin, clock);
    ofOrigins.set(origin, quota);
    return quota();
  }

  return {
    async verify(token, isNamed = true, isPatient = true) {
      const known = keysOf(token.claims.iss);
      const isTrusted = known.keys !== undefined && clock() < known.trustedUntilMs;
      if (!isTrusted && !isPatient && known.hasFailed === true) {
        refresh(known, isNamed).catch(() => {}); // for the next token
        throw new TokenRejected("keys of the issuer could not be fetched");
      }
      let keys = isTrusted ? known.keys! : await refresh(known, isNamed);
      try {
        await keys.verify(token);
      } catch (error) {
        if (!(error instanceof UnknownKey)) throw error;
        keys = await refresh(known, isNamed);
        await keys.verify(token);
      }
      if (!known.isProven) {
        known.isProven = true;
        proven.set(known.issuer, known);
      }
      return keys.keyOf(token).thumbprint;
    },
  };
}

/** Keys that were fetched. */
interface FetchedKeySet {
  readonly keys: KeySet;
  /** The header field `Date` of the response; undefined if it has none. */
  readonly date: string | undefined;
}

/** Fetches the keys that an issuer publishes. Errors: {@link TokenRejected}. */
export async function fetchKeySet(
  issuer: string,
  { allowLoopbackHttp, fetch = fetchLimited }: Pick<KeySetsOptions, "allowLoopbackHttp" | "fetch">,
): Promise<FetchedKeySet> {
  const signal = AbortSignal.timeout(fetchTimeoutMs);
  const get = async (address: string) => {
    const { status, headers, body } = await fetch(address, {
      allowLoopbackHttp,
      signal,
      timeoutMs: fetchTimeoutMs,
      maxBytes: maxDocumentBytes,
      headers: { accept: "application/json" },
    });
    if (status !== 200) throw new TokenRejected(`issuer answered ${status}`);
    return { text: new TextDecoder().decode(body), date: headers.date };
  };
  try {
    const { search, hash } = parseOutboundUrl(issuer, allowLoopbackHttp);
    if (search !== "" || hash !== "") throw new TokenRejected("issuer with query or fragment");
    const { text: document } = await get(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
    const discovery = JSON.parse(document);
    if (discovery?.issuer !== issuer) throw new TokenRejected("discovery document of another issuer");
    if (typeof discovery.jwks_uri !== "string") throw new TokenRejected("discovery document without jwks_uri");
    const { text, date } = await get(discovery.jwks_uri);
    return { keys: parseKeySet(text), date: typeof date === "string" ? date : undefined };
  } catch (cause) {
    if (cause instanceof OutboundRefused || cause instanceof OutboundFailed)
      throw new TokenRejected(`keys of the issuer cannot be fetched: ${cause.message}`, { cause });
    if (cause instanceof SyntaxError) throw new TokenRejected("discovery document is not JSON", { cause });
    throw cause;
  }
}

/** Returns true at most `count` times in each window. */
function createQuota({ count, windowMs }: typeof unprovenFetches, clock: () => number): () => boolean {
  let used = 0;
  let startMs = clock();
  return () => {
    if (clock() - startMs >= windowMs) [used, startMs] = [0, clock()];
    return ++used <= count;
  };
}
