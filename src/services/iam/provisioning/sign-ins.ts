/**
 * The users that each identity provider has signed in: a row for every provider and user identity. It is written with
 * the first binding of the user and removed after the provider only. So a binding or an identity that an administrator
 * removes does not come back with the next token of the user.
 */
import type { TableSpec } from "../../../store/index.ts";

/** The rows. The uid has the provider and the identity, the body what the provider reports of the user, if anything. */
export const signIns: TableSpec = {
  name: "identity_provider_sign_ins",
  columns: {},
  isWatched: true,
  quota: "signIns",
};

/** The uid of the row of a provider and a user identity. */
export function signInUid(provider: string, identity: string): string {
  return `${provider}/${identity}`;
}
