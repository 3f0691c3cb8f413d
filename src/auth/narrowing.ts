/**
 * Narrowed tokens. An exchange may restrict a token to less than its identity may do: to some groups and everything
 * below them, and to some capabilities. The token has two claims for it, by which every call restricts the current
 * grants of the caller:
 *
 *     scopes   uids of groups; a grant at or above one counts only within it
 *     cap      names of capabilities; a grant counts only for these
 *
 * An absent claim restricts nothing, an empty one allows nothing. Only platform tokens are read this way: other issuers
 * may use the same names for other claims.
 */

import { covers, isUid, outermost, rootOf } from "../uid.ts";
import type { Narrowing } from "./caller.ts";
import { capabilitiesByName, capabilityName } from "./capabilities.ts";
import type { Grant } from "./grant.ts";
import { TokenRejected } from "./tokens/token.ts";

/** The narrowing in the claims of a token; undefined when there is none. Errors: TokenRejected for malformed claims. */
export function narrowingOf(claims: Readonly<Record<string, unknown>>): Narrowing | undefined {
  const scopes = textsOf(claims, "scopes");
  const names = textsOf(claims, "cap");
  if (scopes === undefined && names === undefined) return undefined;
  if (scopes?.every(isUid) === false) throw new TokenRejected("narrowed to what is not a uid");
  return {
    ...(scopes && { scopes }),
    ...(names && { capabilities: names.flatMap((name) => capabilitiesByName.get(name) ?? []) }),
  };
}

/** The organisation that all uids are in; undefined if there is none, or several. Other texts do not count. */
export function organisationOf(uids: readonly string[] = []): string | undefined {
  const [organisation, ...others] = new Set(uids.filter(isUid).map(rootOf));
  return others.length === 0 ? organisation : undefined;
}

/** The claims of a narrowing. */
export function narrowingClaims({ scopes, capabilities }: Narrowing): Readonly<Record<string, readonly string[]>> {
  return { ...(scopes && { scopes }), ...(capabilities && { cap: capabilities.map(capabilityName) }) };
}

/** The intersection of two narrowings: never more than either. */
export function narrower(one: Narrowing, other: Narrowing): Narrowing {
  const scopes = bothOf(one.scopes, other.scopes, (a, b) => outermost(a.flatMap((scope) => within(scope, b))));
  const kept = bothOf(one.capabilities, other.capabilities, (a, b) => a.filter((capability) => b.includes(capability)));
  return { ...(scopes && { scopes }), ...(kept && { capabilities: kept }) };
}

/** The grants, restricted by a narrowing. */
export function narrowGrants(grants: readonly Grant[], { scopes, capabilities }: Narrowing): readonly Grant[] {
  return grants.flatMap((grant) => {
    const kept = capabilities && new Set(capabilities.filter((capability) => grant.capabilities.has(capability)));
    const places = scopes === undefined ? [grant.scope] : within(grant.scope, scopes);
    return places.map((scope) => ({ ...grant, scope, capabilities: kept ?? grant.capabilities }));
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
