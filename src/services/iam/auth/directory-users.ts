/**
 * Turns users that only a directory made into entries of that directory. Earlier releases made an identity of every
 * user that a provisioning client named, which tokens of its issuer then spoke for in every organisation.
 */
import type { Database, Row, WriteSession } from "../../../store/index.ts";
import { identities } from "../identities.ts";
import { usersTable } from "../provisioning/directory.ts";
import { signIns, signInsOf } from "../provisioning/sign-ins.ts";
import { roleBindings } from "../role-bindings.ts";

/** A user that is an entry of a directory alone from now on. */
export interface SeparatedUser {
  /** uid of the identity that it is again once it signs in. */
  readonly identity: string;
  /** uid of the provider with the directory. */
  readonly provider: string;
  /** uids of its role bindings. They stay, and count once the user signs in. */
  readonly bindings: readonly string[];
}

const batchSize = 200;
const done = "directory-users-separated";

/**
 * Does it once for a database. `report` is called in the transaction for each of them. A user that has used a token, or
 * that another provider has signed in, stays an identity.
 */
export async function separateDirectoryUsers(
  database: Database,
  report: (session: WriteSession, user: SeparatedUser) => Promise<void>,
): Promise<void> {
  if ((await database.read.setting(done)) !== undefined) return;
  for await (const entries of database.read.pages(usersTable, { limit: batchSize })) {
    const linked = entries.filter(({ columns }) => columns.identity !== "");
    if (linked.length === 0) continue;
    await database.transact(async (session) => {
      for (const entry of linked) {
        const user = await separate(session, entry);
        if (user !== undefined) await report(session, user);
      }
    });
  }
  await database.transact((session) => session.addSetting(done, new Uint8Array()));
}

/** Removes the identity of an entry if only directories made it. undefined if it stays, or was removed before. */
async function separate(session: WriteSession, entry: Row): Promise<SeparatedUser | undefined> {
  const identity = String(entry.columns.identity);
  const user = await session.get(identities.table, identity);
  const isUsed = user === undefined || Number(user.columns.last_seen_us) > user.createTimeUs;
  if (isUsed) return undefined;
  const entries = { where: [{ column: "identity", equals: identity }], limit: Number.MAX_SAFE_INTEGER };
  const ofDirectories = (await session.list(usersTable, entries)).map(({ parent }) => parent);
  // The directory that made the identity signed it in when it did.
  const made = await signInsOf(session, ofDirectories, identity);
  if (![...made.values()].some(({ createTimeUs }) => createTimeUs === user.createTimeUs)) return undefined;
  for (const { uid } of made.values()) await session.remove(signIns, uid);
  await session.remove(identities.table, identity);
  const bound = { where: [{ column: "identity_uid", equals: identity }], limit: Number.MAX_SAFE_INTEGER };
  const bindings = (await session.list(roleBindings.table, bound)).map(({ uid }) => uid);
  return { identity, provider: entry.parent, bindings };
}
