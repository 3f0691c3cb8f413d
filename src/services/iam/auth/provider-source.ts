/**
 * Supplies `auth` with the identity providers of the database, and signs users in.
 *
 * The first sign-in of a user at a provider creates the user identity, unless it exists, and binds it to the default
 * role of the provider in its organisation. Neither happens twice: later calls only read. If an identity is deleted
 * after a provider signed it in, that provider refuses it permanently.
 *
 * Several organisations may have a provider for one issuer and client. A first sign-in gives the organisation the
 * issuer and subject of the user, so it never happens at one of several by chance: the caller names it, or the operator
 * has reserved the issuer and client for it.
 */
import type { Claims, Presentation, Provider, ProviderSource, SignIn } from "../../../auth/index.ts";
import type { ReservedClient } from "../../../config/index.ts";
import { unavailable } from "../../../errors.ts";
import { userIdentityUid } from "../../../new-uid.ts";
import { messageOf, type RowChange } from "../../../resource/index.ts";
import { ConflictError, type Database, NotUniqueError, type WriteSession } from "../../../store/index.ts";
import { rootOf } from "../../../uid.ts";
import { lockAccess } from "../access-lock.ts";
import { identityProviders, oidcOf } from "../identity-providers.ts";
import { linkUsers } from "../provisioning/directory.ts";
import { isNewReport, standingsOf, storeReport } from "../user-reports.ts";
import { signInFirst } from "./first-sign-in.ts";
import { type Admission, admit, groupsAt } from "./provisioned-users.ts";

/** A provider at which a user signs in, and what it causes. */
interface SignInRecord {
  /** uid of the user identity. */
  readonly identity: string;
  readonly claims: Claims;
  /** uid of the provider. */
  readonly provider: string;
  readonly changes: readonly RowChange[];
  readonly nowMs: number;
}

/** What {@link providerSource} needs. */
interface ProviderSourceOptions {
  readonly database: Database;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Records a first sign-in in its transaction. */
  record(session: WriteSession, signIn: SignInRecord): Promise<void>;
  /** The pairs of issuer and client that the operator reserves. Read for every sign-in. */
  reserved(): readonly ReservedClient[];
  /** Called when what a token reports of its user could not be written. */
  report(error: unknown): void;
}

/** Identity providers by the claims of a token. */
export function providerSource({ database, now, record, reserved, report }: ProviderSourceOptions): ProviderSource {
  /** The provider at which a user may sign in for the first time. */
  function firstOf(accepting: readonly Provider[], { iss }: Claims, { named }: Presentation): Provider | undefined {
    if (named !== undefined) return accepting.find(({ uid }) => uid === named);
    if (accepting.length === 1) return accepting[0];
    return accepting.find(({ uid, clientId }) =>
      reserved().some((pair) => pair.issuer === iss && pair.clientId === clientId && pair.provider === uid),
    );
  }

  /** Whether the provider lets the user in. Errors: UNAVAILABLE when others sign in at the same time. */
  async function signInAt({ provider: { uid: provider }, unlinked }: Admission, claims: Claims): Promise<boolean> {
    const identity = userIdentityUid(claims.iss, claims.sub);
    try {
      return await database.transact(async (session) => {
        const nowMs = now();
        await lockAccess(session, provider);
        const signedIn = await signInFirst(session, provider, identity, claims, nowMs);
        if (signedIn === undefined) return false;
        await linkUsers(session, unlinked, identity);
        const { isFirst, changes } = signedIn;
        if (isFirst) await record(session, { identity, claims, provider, changes, nowMs });
        return true;
      });
    } catch (error) {
      if (error instanceof ConflictError || error instanceof NotUniqueError)
        throw unavailable("others sign in at the same time; try again");
      throw error;
    }
  }

  /** Stores what a token reports of a user, beside the call. */
  function noteReport(provider: string, identity: string, claims: Claims): void {
    isNewReport(database.read, provider, identity, claims)
      .then((isNew) =>
        isNew ? database.transact((session) => storeReport(session, provider, identity, claims)) : undefined,
      )
      .catch(report);
  }

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
        clientId: String(row.columns.client_id),
        groupsClaim: oidcOf(messageOf(identityProviders, row)).groupsClaim || "groups",
      }));
    },

    async accepts(uid, identity) {
      if (!(await database.read.exists(identityProviders.table, { uids: [uid] }))) return undefined;
      return groupsAt(database.read, uid, identity);
    },

    async signIn(accepting, claims, presented): Promise<SignIn> {
      const { named, place, isNew } = presented;
      const identity = userIdentityUid(claims.iss, claims.sub);
      const asked = named === undefined ? accepting : accepting.filter(({ uid }) => uid === named);
      const admissions = await admit(database.read, asked, identity, claims);
      const uids = admissions.map(({ provider }) => provider.uid);
      const standings = await standingsOf(database.read, uids, identity);
      const first = firstOf(accepting, claims, presented);
      const providers: Provider[] = [];
      const isElsewhere = (uid: string) => named === undefined && place !== undefined && rootOf(place) !== rootOf(uid);
      let isDeferred = false;
      for (const admission of admissions) {
        const { provider, unlinked } = admission;
        const standing = standings.get(provider.uid);
        const isFirst = standing === "new" && provider.uid === first?.uid;
        const mayCreate = isFirst && !isElsewhere(provider.uid);
        isDeferred ||= isFirst && !mayCreate;
        if (standing === "known" && isNew) noteReport(provider.uid, identity, claims);
        if (mayCreate || (standing === "known" && unlinked.length > 0)) {
          if (await signInAt(admission, claims)) providers.push(provider);
        } else if (standing === "known") providers.push(provider);
      }
      const isUndecided = providers.length === 0 && first === undefined;
      const several = isUndecided ? uids.filter((uid) => standings.get(uid) === "new") : [];
      if (several.length === 0) return { providers, isDeferred };
      return { providers, isDeferred, ambiguous: several.every(isElsewhere) ? "elsewhere" : "here" };
    },
  };
}
