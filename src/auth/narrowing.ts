/**
 * Narrowed tokens. An exchange may restrict what its token can do below what its identity may do: to some groups and all below them, to some
 * capabilities. The token says so in two claims, and every call cuts the caller's live grants by them:
 *
 *     scopes   uids of groups; a grant at or above one counts only within it
 *     cap      names of capabilities; a grant counts only for these
 *
 * An absent claim restricts nothing, an empty one leaves nothing. Only tokens of our own are read this way: an outside issuer may give the
 * same names to claims of its own.
 */
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { covers, isUid, outermost } from "../uid.ts";
import type { Grant } from "./authority.ts";
import { capabilitiesByName, capabilityName } from "./capabilities.ts";
import { TokenRejected } from "./token.ts";

/** What a token is restricted to; what is absent is not restricted. */
export interface Narrowing {
  /** uids of groups, none of which covers another. */
  readonly scopes?: readonly string[];
  readonly capabilities?: readonly Capability[];
}

/** What of a token's claims narrows it; undefined where nothing does. Errors: TokenRejected when the claims cannot be understood. */
export function narrowingOf(claims: Readonly<Record<string, unknown>>): Narrowing | undefined {
  const scopes = textsOf(claims, "scopes");
  const names = textsOf(claims, "cap");
  if (scopes === undefined && names === undefined) return undefined;
  if (scopes?.every(isUid) === false) throw new TokenRejected("narrowed to what is no uid");
  return {
    ...(scopes && { scopes }),
    ...(names && { capabilities: names.flatMap((name) => capabilitiesByName.get(name) ?? []) }),
  };
}

/** The claims that say it. */
export function narrowingClaims({ scopes, capabilities }: Narrowing): Readonly<Record<string, readonly string[]>> {
  return { ...(scopes && { scopes }), ...(capabilities && { cap: capabilities.map(capabilityName) }) };
}

/** What is left when both restrictions hold: never more than either. */
export function narrower(one: Narrowing, other: Narrowing): Narrowing {
  const scopes = bothOf(one.scopes, other.scopes, (a, b) => outermost(a.flatMap((scope) => within(scope, b))));
  const kept = bothOf(one.capabilities, other.capabilities, (a, b) => a.filter((capability) => b.includes(capability)));
  return { ...(scopes && { scopes }), ...(kept && { capabilities: kept }) };
}

/** The grants as far as the narrowing lets them count. */
export function narrowGrants(grants: readonly Grant[], { scopes, capabilities }: Narrowing): readonly Grant[] {
  return grants.flatMap((grant) => {
    const kept = capabilities && new Set(capabilities.filter((capability) => grant.capabilities.has(capability)));
    const places = scopes === undefined ? [grant.scope] : within(grant.scope, scopes);
    return places.map((scope) => ({ scope, capabilities: kept ?? grant.capabilities }));
  });
}

/** The part of a scope that lies in one of `scopes`. */
function within(scope: string, scopes: readonly string[]): string[] {
  return scopes.flatMap((other) => (covers(other, scope) ? [scope] : covers(scope, other) ? [other] : []));
}

function bothOf<T>(one: T | undefined, other: T | undefined, join: (one: T, other: T) => T): T | undefined {
  return one === undefined || other === undefined ? (one ?? other) : join(one, other);
}

function textsOf(claims: Readonly<Record<string, unknown>>, name: string): readonly string[] | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    throw new TokenRejected(`${name} is not a list of texts`);
  return value;
}
