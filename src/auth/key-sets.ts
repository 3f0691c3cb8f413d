/**
 * The published keys of other issuers, found by OpenID Connect Discovery 1.0:
 *
 *     <issuer>/.well-known/openid-configuration  →  its `issuer` must be the same  →  its `jwks_uri`  →  the key set
 *
 * Tenants choose the issuers, so a fetch obeys `outbound.ts`, takes 5 s at most for both documents, and happens at most once in 30 s for an
 * issuer, whatever the tokens say and whether or not it succeeds. Requests that need the same keys wait for the same fetch. A set is
 * trusted for ten minutes; when it cannot be renewed it is dropped. A key that is not in the set renews it early. The 1000 issuers used
 * last are remembered.
 */
import { fetchLimited, OutboundFailed, OutboundRefused, parseOutboundUrl } from "../outbound.ts";
import { RecentMap } from "../recent-map.ts";
import { type KeySet, parseKeySet, UnknownKey } from "./key-set.ts";
import { type Token, TokenRejected } from "./token.ts";

/** How long a published key set, and a signature verified with it, is trusted. */
export const keySetLifetimeMs = 10 * 60_000;

/** Verifies signatures with the keys their issuers publish. */
export interface KeySets {
  /**
   * Verifies the token's signature with the keys of its `iss`, fetching them when needed.
   *
   * Errors: {@link TokenRejected}, also when the issuer cannot be reached.
   */
  verify(token: Token): Promise<void>;
}

/** What {@link createKeySets} needs. */
export interface KeySetsOptions {
  readonly allowLoopbackHttp: boolean;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** In place of the guarded client. */
  readonly fetch?: typeof fetchLimited;
}

interface IssuerKeys {
  readonly issuer: string;
  keys?: KeySet;
  trustedUntilMs: number;
  nextFetchMs: number;
  pending?: Promise<KeySet> | undefined;
}

const maxIssuers = 1000;
const fetchIntervalMs = 30_000;
const fetchTimeoutMs = 5000;

/** An empty cache of key sets; it starts no timer. */
export function createKeySets({ allowLoopbackHttp, clock, fetch = fetchLimited }: KeySetsOptions): KeySets {
  const issuers = new RecentMap<string, IssuerKeys>(maxIssuers);

  function keysOf(issuer: string): IssuerKeys {
    let known = issuers.get(issuer);
    if (known === undefined) {
      known = { issuer, trustedUntilMs: 0, nextFetchMs: 0 };
      issuers.set(issuer, known);
    }
    return known;
  }

  function refresh(known: IssuerKeys): Promise<KeySet> {
    known.pending ??= renew(known).finally(() => {
      known.pending = undefined;
    });
    return known.pending;
  }

  async function renew(known: IssuerKeys): Promise<KeySet> {
    const startMs = clock();
    if (startMs < known.nextFetchMs) throw new TokenRejected("keys were fetched a moment ago");
    known.nextFetchMs = startMs + fetchIntervalMs;
    known.keys = await load(known.issuer);
    known.trustedUntilMs = startMs + keySetLifetimeMs;
    return known.keys;
  }

  async function load(issuer: string): Promise<KeySet> {
    const signal = AbortSignal.timeout(fetchTimeoutMs);
    try {
      const { search, hash } = parseOutboundUrl(issuer, allowLoopbackHttp);
      if (search !== "" || hash !== "") throw new TokenRejected("issuer with query or fragment");
      const discovery = JSON.parse(await get(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, signal));
      if (discovery?.issuer !== issuer) throw new TokenRejected("discovery document of another issuer");
      if (typeof discovery.jwks_uri !== "string") throw new TokenRejected("discovery document without jwks_uri");
      return parseKeySet(await get(discovery.jwks_uri, signal));
    } catch (cause) {
      if (cause instanceof OutboundRefused || cause instanceof OutboundFailed || cause instanceof SyntaxError) {
        throw new TokenRejected("keys of the issuer cannot be fetched", { cause });
      }
      throw cause;
    }
  }

  async function get(address: string, signal: AbortSignal): Promise<string> {
    const { status, body } = await fetch(address, {
      allowLoopbackHttp,
      signal,
      timeoutMs: fetchTimeoutMs,
      headers: { accept: "application/json" },
    });
    if (status !== 200) throw new TokenRejected(`issuer answered ${status}`);
    return new TextDecoder().decode(body);
  }

  return {
    async verify(token) {
      const known = keysOf(token.claims.iss);
      const keys = known.keys !== undefined && clock() < known.trustedUntilMs ? known.keys : await refresh(known);
      try {
        await keys.verify(token);
      } catch (error) {
        if (!(error instanceof UnknownKey)) throw error;
        await (await refresh(known)).verify(token);
      }
    },
  };
}
