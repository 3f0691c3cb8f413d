/**
 * The directories of identity providers. A user in a directory is neither an identity nor a rule for tokens: it says
 * whether its provider lets in the user of a token that the provider accepts, and which groups the user is in. One that
 * is removed loses what it has in the organisation.
 */
import {
  IdentityProvider_OIDC_CorrelationRule as CorrelationRule,
  type IdentityProvider,
} from "../../../../gen/platform/iam/v2/identity_providers_pb.ts";
import type { Claims, Provider } from "../../../auth/index.ts";
import { userIdentityUid } from "../../../new-uid.ts";
import { messageOf, type RowChange } from "../../../resource/index.ts";
import type { ReadSession, WriteSession } from "../../../store/index.ts";
import { parentOf } from "../../../uid.ts";
import { identityProviders, oidcOf } from "../identity-providers.ts";
import { findUser, groupsOf, hasActiveUser } from "../provisioning/directory.ts";
import { readManyProvisionings, readProvisioning } from "../provisioning/settings.ts";
import { signIns, signInUid } from "../provisioning/sign-ins.ts";
import { roleBindings } from "../role-bindings.ts";

/** The claim that a provider's users are found by: their external id. */
function correlatingClaim(provider: IdentityProvider): "sub" | "oid" {
  return oidcOf(provider).correlationRule === CorrelationRule.OID_EQUALS_EXTERNAL_ID ? "oid" : "sub";
}

/** A provider that lets the user of a verified token in. */
export interface Admission {
  /** With the groups that it has put the user in. */
  readonly provider: Provider;
  /** The uids of the users of its directory that this identity is, and that do not name it yet. */
  readonly unlinked: readonly string[];
}

/** Which providers let the user of a verified token in: those that it is active at, and those without a directory. */
export async function admit(
  session: ReadSession,
  providers: readonly Provider[],
  identity: string,
  claims: Claims,
): Promise<readonly Admission[]> {
  const states = await readManyProvisionings(
    session,
    providers.map(({ uid }) => uid),
  );
  const admissions: Admission[] = [];
  for (const provider of providers) {
    if (!states.get(provider.uid)!.isEnabled) {
      admissions.push({ provider, unlinked: [] });
      continue;
    }
    const row = await session.get(identityProviders.table, provider.uid);
    const externalId = row && claims[correlatingClaim(messageOf(identityProviders, row))];
    if (typeof externalId !== "string") continue;
    const user = await findUser(session, provider.uid, { externalId });
    if (user?.isActive !== true) continue;
    admissions.push({
      provider: { ...provider, groups: await groupNamesOf(session, user.uid) },
      unlinked: user.identity === identity ? [] : [user.uid],
    });
  }
  return admissions;
}

/** The groups of a user in the directory, by their external ids, or by their names where they have none. */
async function groupNamesOf(session: ReadSession, user: string): Promise<string[]> {
  return (await groupsOf(session, user)).map(({ resource }) => String(resource.externalId ?? resource.displayName));
}

/** Whether a provider that has signed identities in still lets any of them in. `identities`: at least one. */
export async function isAnyAdmitted(
  session: ReadSession,
  provider: string,
  identities: readonly string[],
): Promise<boolean> {
  if (!(await readProvisioning(session, provider)).isEnabled) return true;
  return hasActiveUser(session, provider, identities);
}

/** The groups that a provider has put an identity in that it has signed in; undefined if it lets it in no more. */
export async function groupsAt(
  session: ReadSession,
  provider: string,
  identity: string,
): Promise<readonly string[] | undefined> {
  if (!(await readProvisioning(session, provider)).isEnabled) return [];
  const user = await findUser(session, provider, { identity });
  return user?.isActive === true ? groupNamesOf(session, user.uid) : undefined;
}

/**
 * The uid of the identity that a user with this external id is, once it has signed in; "" where only its token tells.
 */
export async function identityOfEntry(session: ReadSession, provider: string, externalId: string): Promise<string> {
  const row = externalId === "" ? undefined : await session.get(identityProviders.table, provider);
  const message = row && messageOf(identityProviders, row);
  if (message === undefined || correlatingClaim(message) !== "sub") return "";
  return userIdentityUid(oidcOf(message).issuer, externalId);
}

/** Removes what an identity has in the organisation of a provider. */
export async function deprovisionIdentity(
  session: WriteSession,
  provider: string,
  identity: string,
): Promise<RowChange[]> {
  if (identity === "") return [];
  const within = [{ root: parentOf(provider), self: true }];
  const where = [{ column: "identity_uid", equals: identity }];
  const changes: RowChange[] = [];
  for await (const rows of session.pages(roleBindings.table, { within, where, limit: 200 })) {
    for (const row of rows) {
      await session.remove(roleBindings.table, row.uid);
      changes.push({ kind: "deleted", resource: roleBindings, row });
    }
  }
  await session.remove(signIns, signInUid(provider, identity));
  return changes;
}
