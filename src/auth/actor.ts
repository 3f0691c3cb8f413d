/** The caller of a change, as events name it. */
import type { Caller } from "./caller.ts";
import type { Claims } from "./token.ts";

/** What is known of the author of a change. */
export type Author = Pick<Caller, "subject" | "email"> & { readonly claims: Readonly<Claims> };

/**
 * The actor of an event. An exchanged token of the platform, whose issuer is `issuerUrl`, names in `act` the upstream
 * token that it was exchanged for.
 */
export function actorOf({ subject, claims, email }: Author, issuerUrl: string) {
  const upstream = claims.iss === issuerUrl && isObject(claims.act) ? claims.act : claims;
  const { iss, sub, aud } = upstream;
  return { subject, act: { iss, sub, aud, ...(email !== undefined && { email }) } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
