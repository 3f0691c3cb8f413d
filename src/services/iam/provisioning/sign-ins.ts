/**
 * The users that each identity provider has signed in: a row for every provider and user identity. It is written with
 * the first binding of the user and deleted with the provider only. So a binding or an identity that an administrator
 * removes does not come back with the next token of the user.
 */
import type { TableSpec, WriteSession } from "../../../store/index.ts";

/** The rows. The uid has the provider and the identity, the body what the provider reports of the user, if anything. */
export const signIns: TableSpec = { name: "identity_provider_sign_ins", columns: {}, isWatched: true };

const batchSize = 200;

/** The uid of the row of a provider and a user identity. */
export function signInUid(provider: string, identity: string): string {
  return `${provider}/${identity}`;
}

/** Deletes the sign-ins of a provider. */
export async function removeSignIns(provider: string, session: WriteSession): Promise<void> {
  for await (const rows of session.pages(signIns, { parent: provider, limit: batchSize }))
    for (const { uid } of rows) await session.remove(signIns, uid);
}
