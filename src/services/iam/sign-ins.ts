/**
 * Whom each identity provider has signed in: a row for every provider and user identity. It is written together with the user's first binding
 * and goes with the provider only, so that what an administrator takes away later (a binding, a whole identity) does not come back with the
 * user's next token.
 */
import type { TableSpec, WriteSession } from "../../store/index.ts";

/** The rows; all that they say is in their uids. */
export const signIns: TableSpec = { name: "identity_provider_sign_ins", facets: {} };

const batchSize = 200;

/** The uid of the row for a provider and a user identity. */
export function signInUid(provider: string, identity: string): string {
  return `${provider}/${identity}`;
}

/** Forgets whom a provider has signed in. */
export async function removeSignIns(provider: string, session: WriteSession): Promise<void> {
  const first = { parent: provider, orderBy: [{ column: "uid", descending: false }], skip: 0, limit: batchSize };
  for (let found = batchSize; found === batchSize; ) {
    const rows = await session.list(signIns, first);
    for (const { uid } of rows) await session.remove(signIns, uid);
    found = rows.length;
  }
}
