/**
 * Verification of tokens of other issuers: by keys that identities carry, by the published keys of the issuer, or by
 * the handshake of a client certificate.
 *
 * Before it is verified, a token costs a few index lookups and a limited number of signatures, whatever tenants have
 * stored, and no network traffic unless a rule or provider is about its issuer. The keys are tried in turn of their
 * organisations, so that none delays the others, and the one that has verified a token of the issuer and subject before
 * comes first.
 */
import { LruMap } from "../lru-map.ts";
import type { IdentitySource } from "./identity-source.ts";
import type { Principal } from "./principal.ts";
import type { ProviderSource } from "./provider.ts";
import { type CertificateTokens, certificateIssuer } from "./tokens/client-certificates.ts";
import { type FittingKey, type KeySet, parseKeySet } from "./tokens/key-set.ts";
import type { KeySets } from "./tokens/key-sets.ts";
import { type Token, TokenRejected } from "./tokens/token.ts";

/** What has verified a token. */
export interface Verification {
  /** Whether a rule or provider names its issuer, not only its origin. */
  readonly isNamed: boolean;
  /** Whether keys that its issuer publishes have, or a handshake. */
  readonly isPublished: boolean;
  /** The thumbprints of keys, and whether they have. */
  readonly tried: Map<string, boolean>;
}

/** What a {@link Verifier} needs. */
interface VerifierOptions {
  readonly identities: Pick<IdentitySource, "keySources">;
  readonly providers: Pick<ProviderSource, "hasIssuer">;
  readonly keySets: KeySets;
  /** Absent: certificates of clients are not identities. */
  readonly certificates?: CertificateTokens | undefined;
}

/** How many signatures a token may cost before it is verified. One of P-384 costs as much as seven others. */
const maxSignatures = 48;
const p384Signatures = 7;
const maxCached = 10_000;

/** Verifies tokens. */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #parsed = new LruMap<string, KeySet>(1000);
  /** By issuer and subject: the thumbprint of the static key that has verified a token of it last. */
  readonly #proven = new LruMap<string, string>(maxCached);

  constructor(options: VerifierOptions) {
    this.#options = options;
  }

  /** The first keys that verify a token. Errors: TokenRejected if there are none. */
  async verify(token: Token): Promise<Verification> {
    const { certificates, identities, providers } = this.#options;
    const { iss, sub } = token.claims;
    if (iss === certificateIssuer) {
      if (certificates === undefined) throw new TokenRejected("certificates of clients are not identities here");
      certificates.verify(token);
      return { isNamed: true, isPublished: true, tried: new Map() };
    }
    const [{ published, carried }, hasProvider] = await Promise.all([
      identities.keySources(iss, sub),
      providers.hasIssuer(iss),
    ]);
    const isNamed = hasProvider || published === "named";
    const tried = this.#verifyCarried(token, carried);
    if (tried instanceof Map) return { isNamed, isPublished: false, tried };
    if (!hasProvider && published === undefined) throw tried ?? new TokenRejected("no identity or provider matches it");
    return this.verifyPublished(token, { isNamed, isPublished: false, tried: new Map() });
  }

  /** Tries the published keys of the issuer too. Errors: TokenRejected. */
  async verifyPublished(token: Token, known: Verification): Promise<Verification> {
    const thumbprint = await this.#options.keySets.verify(token, known.isNamed, known.tried.size === 0);
    return { ...known, isPublished: true, tried: known.tried.set(thumbprint, true) };
  }

  /** Whether a static key set has verified the token. The key is tried if it was not before. */
  hasVerified(token: Token, { tried }: Verification, issuerKeys: string): boolean {
    const key = this.#keyOf(token, issuerKeys);
    if (key instanceof TokenRejected) return false;
    const { thumbprint } = key;
    const known = tried.get(thumbprint) ?? key.hasSigned();
    tried.set(thumbprint, known);
    return known;
  }

  /** Whether a static key set has the key that signed the token of a principal. */
  hasSigned({ keys, signed }: Pick<Principal, "keys" | "signed">, issuerKeys: string): boolean {
    const thumbprint = rejectionOr(() => this.#keySet(issuerKeys).thumbprintFor(signed));
    return typeof thumbprint === "string" && keys.includes(thumbprint);
  }

  #keySet(issuerKeys: string): KeySet {
    const known = this.#parsed.get(issuerKeys);
    if (known !== undefined) return known;
    const set = parseKeySet(issuerKeys);
    this.#parsed.set(issuerKeys, set);
    return set;
  }

  /** The key of a set that may have signed a token, or why there is none. */
  #keyOf(token: Token, issuerKeys: string): FittingKey | TokenRejected {
    return rejectionOr(() => this.#keySet(issuerKeys).keyOf(token));
  }

  #verifyCarried(token: Token, carried: readonly string[]): Map<string, boolean> | TokenRejected | undefined {
    const principal = JSON.stringify([token.claims.iss, token.claims.sub]);
    const found = carried.map((issuerKeys) => this.#keyOf(token, issuerKeys));
    const keys = new Map(
      found.flatMap((key) => (key instanceof TokenRejected ? [] : [[key.thumbprint, key] as const])),
    );
    const first = keys.get(this.#proven.get(principal) ?? "");
    const inOrder = new Set([...(first === undefined ? [] : [first]), ...keys.values()]);
    let left = maxSignatures;
    for (const { thumbprint, hasSigned } of inOrder) {
      left -= token.algorithm === "ES384" ? p384Signatures : 1;
      if (left < 0) break;
      if (!hasSigned()) continue;
      this.#proven.set(principal, thumbprint);
      return new Map([[thumbprint, true]]);
    }
    if (keys.size > 0) return new TokenRejected("signature not verified");
    return found.find((key) => key instanceof TokenRejected);
  }
}

function rejectionOr<T>(work: () => T): T | TokenRejected {
  try {
    return work();
  } catch (error) {
    if (error instanceof TokenRejected) return error;
    throw error;
  }
}
