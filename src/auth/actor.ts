/**
 * Who acts in an organisation. The identities of a caller may live in several, and none of them learns of the others.
 * So the audit log and the events of an organisation name as actor, in this order:
 *
 * 1. the identity whose grant allowed the call;
 * 2. the oldest identity of the caller in the organisation;
 * 3. the identity of the caller at the root: the user, or an administrator;
 * 4. the uid that LookupIdentity answers for the issuer and the subject of the caller.
 */
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { userIdentityUid } from "../new-uid.ts";
import { covers, rootOf } from "../uid.ts";
import type { Authority } from "./authority.ts";
import type { Caller } from "./caller.ts";
import type { Claims } from "./tokens/token.ts";

/** What is known of the author of a change. */
export type Author = Pick<Caller, "subject" | "email"> & { readonly claims: Readonly<Claims> };

/**
 * The uid that acts at a scope. `capabilities`: what the call needed there. "" for a call about no organisation: then
 * it is the subject of the caller.
 */
export function actorAt(
  { caller, grants }: Authority,
  scope: string,
  capabilities: readonly Capability[] = [],
): string {
  if (scope === "") return caller.subject;
  return matchingAt({ caller, grants }, scope, capabilities) ?? strangerOf(caller);
}

/** The identity of the caller that acts at a scope; undefined if it has none in the organisation nor at the root. */
export function matchingAt(
  { caller, grants }: Authority,
  scope: string,
  capabilities: readonly Capability[] = [],
): string | undefined {
  const organisation = rootOf(scope);
  const own = caller.identities.filter((uid) => rootOf(uid) === organisation || !uid.includes("/"));
  if (own.length <= 1) return own[0];
  const above = grants.filter((grant) => covers(grant.scope, scope));
  const holds = (uid: string, capability: Capability) =>
    above.some((grant) => grant.identity === uid && grant.capabilities.has(capability));
  return (
    own.find((uid) => capabilities.length > 0 && capabilities.every((capability) => holds(uid, capability))) ??
    own.find((uid) => capabilities.some((capability) => holds(uid, capability))) ??
    own[0]
  );
}

/** The uid of a caller that has no identity at a scope. A command has a name instead. */
function strangerOf({ subject, issuer, outsideIssuer, claims }: Caller): string {
  if (issuer === "") return subject;
  const { iss, sub } = outsideIssuer === issuer ? claims : upstreamOf(claims, issuer);
  return userIdentityUid(iss, sub);
}

/**
 * The actor of an event. An exchanged token of the platform, whose issuer is `issuerUrl`, names in `act` the upstream
 * token that it was exchanged for.
 */
export function actorOf({ subject, claims, email }: Author, issuerUrl: string) {
  const { iss, sub, aud } = upstreamOf(claims, issuerUrl);
  return { subject, act: { iss, sub, aud, ...(email !== undefined && { email }) } };
}

/** The claims that the caller first presented. */
function upstreamOf(claims: Readonly<Claims>, issuerUrl: string): Pick<Claims, "iss" | "sub" | "aud"> {
  return claims.iss === issuerUrl && isObject(claims.act) ? (claims.act as unknown as Claims) : claims;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
