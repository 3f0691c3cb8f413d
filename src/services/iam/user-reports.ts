/**
 * What identity providers report of the users that they have signed in. A user is one identity for all organisations,
 * but each of them sees the name and the address that its own provider reports: in its directory, or else in the last
 * token that names them.
 */
import type { Claims } from "../../auth/index.ts";
import type { ReadSession, Row, WriteSession } from "../../store/index.ts";
import { identities } from "./identities.ts";
import { identityProviders } from "./identity-providers.ts";
import { readUsersOf } from "./provisioning/directory.ts";
import { signIns, signInsOf, signInUid } from "./provisioning/sign-ins.ts";
import { claimsOfEntry, describesUser, describeUser, type UserDescription } from "./provisioning/user-claims.ts";

/** Whether a provider knows a user, would sign it in for the first time, or refuses it since it was deleted. */
type Standing = "known" | "new" | "deleted";

/** The standing of a user at providers, by their uids. */
export async function standingsOf(
  session: ReadSession,
  providers: readonly string[],
  identity: string,
): Promise<ReadonlyMap<string, Standing>> {
  // The user is read after its sign-ins: the other way round, one that signs in between both reads would look deleted.
  const rows = await signInsOf(session, providers, identity);
  const user = await session.get(identities.table, identity);
  return new Map(
    providers.map((uid) => {
      const row = rows.get(uid);
      if (row === undefined) return [uid, "new"];
      return [uid, user === undefined || row.createTimeUs < user.createTimeUs ? "deleted" : "known"];
    }),
  );
}

/** What a token reports, as it is stored; empty if it names nothing. */
export function reportIn(claims: Claims): Uint8Array {
  return describesUser(claims) ? Buffer.from(JSON.stringify(describeUser(claims))) : new Uint8Array();
}

/** Whether a token reports something else than what is stored. */
export async function isNewReport(
  session: ReadSession,
  provider: string,
  identity: string,
  claims: Claims,
): Promise<boolean> {
  return (await withNewReport(session, provider, identity, claims)) !== undefined;
}

/** Stores what a token reports. */
export async function storeReport(
  session: WriteSession,
  provider: string,
  identity: string,
  claims: Claims,
): Promise<void> {
  const row = await withNewReport(session, provider, identity, claims);
  if (row !== undefined) await session.update(signIns, row);
}

/** The sign-in with what a token reports, if that is something else than what is stored. */
async function withNewReport(
  session: ReadSession,
  provider: string,
  identity: string,
  claims: Claims,
): Promise<Row | undefined> {
  const body = reportIn(claims);
  if (body.length === 0) return undefined;
  const row = await session.get(signIns, signInUid(provider, identity));
  return row !== undefined && Buffer.compare(body, row.body) !== 0 ? { ...row, body } : undefined;
}

/** What the providers of an organisation report of users that they have signed in, by their uids. */
export async function reportsTo(
  session: ReadSession,
  organisation: string,
  users: readonly string[],
): Promise<ReadonlyMap<string, UserDescription>> {
  const reports = new Map<string, UserDescription>();
  if (users.length === 0) return reports;
  const all = { limit: Number.MAX_SAFE_INTEGER };
  for (const { uid } of await session.list(identityProviders.table, { parent: organisation, ...all })) {
    const [rows, entries] = await Promise.all([
      session.getMany(
        signIns,
        users.map((user) => signInUid(uid, user)),
      ),
      readUsersOf(session, uid, users),
    ]);
    for (const user of users) {
      const row = rows.get(signInUid(uid, user));
      if (row === undefined || reports.has(user)) continue;
      const entry = entries.get(user);
      reports.set(user, entry === undefined ? reportOf(row) : describeUser(claimsOfEntry(entry.resource)));
    }
  }
  return reports;
}

function reportOf({ body }: Row): UserDescription {
  return body.length === 0 ? { name: "" } : JSON.parse(Buffer.from(body).toString());
}
