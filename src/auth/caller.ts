/** The caller of a call, from its token. */

import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import type { Principal } from "./principal.ts";
import type { ProviderSignIn } from "./provider.ts";
import type { Claims } from "./tokens/token.ts";

/** The caller of a call. */
export interface Caller {
  /**
   * Whose call it is, for the operator: the uid of the identity that a platform token names, else the uid that
   * LookupIdentity answers for issuer and subject. In an organisation another identity may act (`actor.ts`).
   */
  readonly subject: string;
  /** What limits and stored answers belong to. It differs between callers of one issuer and subject with other keys. */
  readonly key: string;
  /**
   * uids of the identities whose grants are united: those that live in groups, oldest first, then those at the root.
   */
  readonly identities: readonly string[];
  /** `iss` of the token. */
  readonly issuer: string;
  /**
   * `iss` of the token that the caller first presented, if it came from another issuer, also when it was exchanged
   * since; absent for a token that the platform made without one.
   */
  readonly outsideIssuer?: string;
  /**
   * Only if the issuer says that it verified it. Anyone can run an issuer: compare {@link issuer} before relying on it.
   */
  readonly email?: string;
  readonly claims: Readonly<Claims>;
  readonly expireTimeMs: number;
  /** The principal, if the token does not name one of its identities or providers. */
  readonly principal?: Principal;
  /**
   * The identity providers that the caller signed in through; absent for other callers. A platform token may name one
   * in two claims: `idp`, the uid of the provider, and `groups`, the names of the groups of the user there, which count
   * until `groups_exp`.
   */
  readonly providers?: readonly ProviderSignIn[];
  /** The restriction of grants by a platform token. */
  readonly narrowing?: Narrowing;
}

/** The restriction of a token. An absent member restricts nothing. */
export interface Narrowing {
  /** uids of groups, none of which covers another. */
  readonly scopes?: readonly string[];
  readonly capabilities?: readonly Capability[];
}
