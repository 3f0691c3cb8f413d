/**
 * The users that each identity provider has signed in: a row for every provider and user identity. It is written with
 * the first binding of the user and removed after the provider only. So a binding or an identity that an administrator
 * removes does not come back with the next token of the user.
 */
import type { ReadSession, Row, TableSpec } from "../../../store/index.ts";

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

/** What providers have of a user that they have signed in, by the uid of the provider. */
export async function signInsOf(
  session: ReadSession,
  providers: readonly string[],
  identity: string,
): Promise<ReadonlyMap<string, Row>> {
  const uids = providers.map((provider) => signInUid(provider, identity));
  return new Map([...(await session.getMany(signIns, uids)).values()].map((row) => [row.parent, row]));
}

/** Those of the providers that have not signed a user in. */
export async function withoutSignIn(session: ReadSession, providers: readonly Row[], identity: string): Promise<Row[]> {
  const uids = providers.map(({ uid }) => uid);
  const known = await signInsOf(session, uids, identity);
  return providers.filter(({ uid }) => !known.has(uid));
}
