/**
 * Supplies `auth` with the identity providers of the database, and signs users in.
 *
 * The first token of a user creates the user identity. The first token of a user that a provider accepts binds the
 * identity to the default role of the provider in its organisation. Neither happens twice: later calls only read. If an
 * identity is deleted after a provider signed it in, that provider refuses it permanently.
 */
import type { Claims, ProviderSource } from "../../../auth/index.ts";
import { unavailable } from "../../../errors.ts";
import { userIdentityUid } from "../../../new-uid.ts";
import { messageOf, type RowChange } from "../../../resource/index.ts";
import { ConflictError, type Database, NotUniqueError, type WriteSession } from "../../../store/index.ts";
import { lockAccess } from "../access-lock.ts";
import { identityProviders, oidcOf } from "../identity-providers.ts";
import { linkUsers } from "../provisioning/directory.ts";
import { signInFirst, stateOf } from "./first-sign-in.ts";
import { admit, isAnyAdmitted } from "./provisioned-users.ts";

/** Records, in the transaction, what a first sign-in creates. `providers`: those at which it is the first. */
type RecordSignIn = (
  session: WriteSession,
  changes: readonly RowChange[],
  by: { readonly subject: string; readonly claims: Claims },
  nowMs: number,
  providers: readonly string[],
) => Promise<void>;

/** Identity providers by the claims of a token. */
export function providerSource(database: Database, now: () => number, record: RecordSignIn): ProviderSource {
  return {
    hasIssuer: (issuer) =>
      database.read.exists(identityProviders.table, { where: [{ column: "issuer", equals: issuer }] }),

    async accepting(issuer, audiences) {
      const rows = await database.read.list(identityProviders.table, {
        where: [
          { column: "issuer", equals: issuer },
          { column: "client_id", in: audiences },
        ],
        limit: Number.MAX_SAFE_INTEGER,
      });
      return rows.map((row) => ({
        uid: row.uid,
        groupsClaim: oidcOf(messageOf(identityProviders, row)).groupsClaim || "groups",
      }));
    },

    async accepts(uid, identity) {
      if (!(await database.read.exists(identityProviders.table, { uids: [uid] }))) return false;
      return isAnyAdmitted(database.read, uid, [identity]);
    },

    async signIn(providers, claims) {
      const identity = userIdentityUid(claims.iss, claims.sub);
      const { admitted, unlinked } = await admit(database.read, providers, identity, claims);
      if (admitted.length === 0) return undefined;
      const state = await stateOf(database.read, admitted, identity);
      if (state === "deleted") return undefined;
      const user = { identity, providers: admitted };
      if (state === "known" && unlinked.length === 0) return user;
      try {
        const isSignedIn = await database.transact(async (session) => {
          const nowMs = now();
          for (const { uid } of admitted.toSorted((a, b) => (a.uid < b.uid ? -1 : 1))) await lockAccess(session, uid);
          const first = await signInFirst(session, admitted, identity, claims, nowMs);
          if (first === undefined) return false;
          await linkUsers(session, unlinked, identity);
          await record(session, first.changes, { subject: identity, claims }, nowMs, first.providers);
          return true;
        });
        return isSignedIn ? user : undefined;
      } catch (error) {
        if (error instanceof ConflictError || error instanceof NotUniqueError)
          throw unavailable("others sign in at the same time; try again");
        throw error;
      }
    },
  };
}
