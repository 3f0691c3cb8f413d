/** The caller of a call, from its token. */

import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import type { Payer } from "../fairness/index.ts";
import type { ProviderSignIn } from "./provider.ts";
import type { Claims } from "./token.ts";

/** The caller of a call. */
export interface Caller {
  /** uid of the identity that acts, for events and audit: the one at the root, else the oldest. */
  readonly subject: string;
  /** uids of the identities whose grants are united, `subject` included. */
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
  /** Whom the work of its calls counts against; absent for callers without a token. */
  readonly payer?: Payer;
  readonly expireTimeMs: number;
  /**
   * The identity providers that the caller signed in through; absent for other callers. A platform token has them in
   * two claims, so that one that was exchanged for the token of a provider grants no more: `idp`, the uid of the
   * provider, and `groups`, the names of the groups of the user there.
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
