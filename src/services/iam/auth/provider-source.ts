/**
 * Supplies `auth` with the identity providers of the database, and signs users in.
 *
 * The first token of a user creates the user identity. The first token of a user that a provider accepts binds the
 * identity to the default role of the provider in its organisation. Neither happens twice: later calls only read. If an
 * identity is deleted after a provider signed it in, that provider refuses it permanently.
 */
import type { Claims, Provider, ProviderSource } from "../../../auth/index.ts";
import { unavailable } from "../../../errors.ts";
import { messageOf, type RowChange } from "../../../resource/index.ts";
import { ConflictError, type Database, NotUniqueError, type WriteSession } from "../../../store/index.ts";
import { userIdentityUid } from "../../../uid.ts";
import { identityProviders, oidcOf } from "../identity-providers.ts";
import { correlatingClaim, provisionedUser } from "../provisioning/users.ts";
import { signInFirst, stateOf } from "./first-sign-in.ts";

/** Records, in the transaction, what a first sign-in creates. */
type RecordSignIn = (
  session: WriteSession,
  changes: readonly RowChange[],
  by: { readonly subject: string; readonly claims: Claims },
  nowMs: number,
) => Promise<void>;

/** Identity providers by the claims of a token. */
export function providerSource(database: Database, now: () => number, record: RecordSignIn): ProviderSource {
  return {
    hasIssuer: (issuer) =>
      database.read.exists(identityProviders.table, { where: [{ column: "issuer", equals: issuer }] }),

    async accepting({ iss: issuer, ...claims }, audiences) {
      const rows = await database.read.list(identityProviders.table, {
        where: [
          { column: "issuer", equals: issuer },
          { column: "client_id", in: audiences },
        ],
        limit: Number.MAX_SAFE_INTEGER,
      });
      const providers = rows.map(async (row): Promise<Provider[]> => {
        const provider = messageOf(identityProviders, row);
        const groupsClaim = oidcOf(provider).groupsClaim || "groups";
        const externalId = String(claims[correlatingClaim(provider)] ?? "");
        const user = await provisionedUser(database.read, row.uid, { externalId });
        if (user === undefined) return [{ uid: row.uid, groupsClaim }];
        return user.isActive ? [{ uid: row.uid, groupsClaim, groups: user.groups }] : [];
      });
      return (await Promise.all(providers)).flat();
    },

    async accepts(uid, identity) {
      if (!(await database.read.exists(identityProviders.table, { uids: [uid] }))) return false;
      return (await provisionedUser(database.read, uid, { identity }))?.isActive !== false;
    },

    async signIn(providers, claims) {
      const uid = userIdentityUid(claims.iss, claims.sub);
      const state = await stateOf(database.read, providers, uid);
      if (state !== "new") return state === "known" ? uid : undefined;
      try {
        const isSignedIn = await database.transact(async (session) => {
          const nowMs = now();
          const changes = await signInFirst(session, providers, uid, claims, nowMs);
          if (changes !== undefined) await record(session, changes, { subject: uid, claims }, nowMs);
          return changes !== undefined;
        });
        return isSignedIn ? uid : undefined;
      } catch (error) {
        if (error instanceof ConflictError || error instanceof NotUniqueError)
          throw unavailable("others sign in at the same time; try again");
        throw error;
      }
    },
  };
}
