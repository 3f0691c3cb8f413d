/**
 * Users whom nobody can use any more: those that a first sign-in has created, that have no role binding, and whose
 * issuer no identity provider has. They belong to no organisation, so no quota counts them. A user who comes back gets
 * the same uid.
 */
import { userIdentityUid } from "../../new-uid.ts";
import { nextRows } from "../../resource/index.ts";
import type { Database, ReadSession, Row } from "../../store/index.ts";
import { identities } from "../iam/identities.ts";
import { identityProviders } from "../iam/identity-providers.ts";
import { roleBindings } from "../iam/role-bindings.ts";

const pageSize = 100;
const maxPages = 20;
const idleMs = 30 * 86_400_000;

/** Creates a task that looks at the next users. It returns whether it should run again at once. */
export function removeUnusedUsers(database: Database, now: () => number): () => Promise<boolean> {
  const { table } = identities;
  let after: string | undefined;
  let pages = 0;

  async function isUnused(session: ReadSession, { uid, columns }: Row): Promise<boolean> {
    const { issuer = "", subject = "", last_seen_us: lastSeenUs = 0 } = columns;
    if (Number(lastSeenUs) > (now() - idleMs) * 1000 || uid !== userIdentityUid(String(issuer), String(subject)))
      return false;
    const ofIssuer = { where: [{ column: "issuer", equals: String(issuer) }] };
    const ofUser = { where: [{ column: "identity_uid", equals: uid }] };
    if (await session.exists(identityProviders.table, ofIssuer)) return false;
    return !(await session.exists(roleBindings.table, ofUser));
  }

  return async () => {
    const { rows, next } = await nextRows(database.read, table, { parent: "", limit: pageSize }, after);
    for (const row of rows) {
      if (!(await isUnused(database.read, row))) continue;
      await database.transact(async (session) => {
        const current = await session.getToRemove(table, row.uid);
        if (current !== undefined && (await isUnused(session, current))) await session.remove(table, row.uid);
      });
    }
    after = next;
    pages = after === undefined ? 0 : (pages + 1) % maxPages;
    return pages !== 0;
  };
}
