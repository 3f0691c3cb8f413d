/**
 * What provisioning does to the users themselves. A user that may sign in is an identity with the default role of the
 * provider, as if it had signed in; one that is removed loses what it has in the organisation.
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
import { roleBindings } from "../role-bindings.ts";
import { signIns, signInUid } from "../sign-ins.ts";
import { signInFirst } from "./first-sign-in.ts";

/** The claim that a provider's users are found by: their external id. */
function correlatingClaim(provider: IdentityProvider): "sub" | "oid" {
  return oidcOf(provider).correlationRule === CorrelationRule.OID_EQUALS_EXTERNAL_ID ? "oid" : "sub";
}

/** What providers say of the user of a verified token. */
interface Admission {
  /** The providers that let the user in, with the groups that they have put it in. */
  readonly admitted: readonly Provider[];
  /** The uids of the provisioned users that this identity is, and that do not name it yet. */
  readonly unlinked: readonly string[];
}

/** Which providers let the user of a verified token in: those that it is active at, and those that provision nobody. */
export async function admit(
  session: ReadSession,
  providers: readonly Provider[],
  identity: string,
  claims: Claims,
): Promise<Admission> {
  const states = await readManyProvisionings(
    session,
    providers.map(({ uid }) => uid),
  );
  const admitted: Provider[] = [];
  const unlinked: string[] = [];
  for (const provider of providers) {
    if (!states.get(provider.uid)!.isEnabled) {
      admitted.push(provider);
      continue;
    }
    const row = await session.get(identityProviders.table, provider.uid);
    const externalId = row && claims[correlatingClaim(messageOf(identityProviders, row))];
    if (typeof externalId !== "string") continue;
    const user = await findUser(session, provider.uid, { externalId });
    if (user?.isActive !== true) continue;
    if (user.identity !== identity) unlinked.push(user.uid);
    // The groups by their external ids, or by their names where they have none.
    const groups = (await groupsOf(session, user.uid)).map(({ resource }) =>
      String(resource.externalId ?? resource.displayName),
    );
    admitted.push({ ...provider, groups });
  }
  return { admitted, unlinked };
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

/**
 * The identity that a user with this external id is, created with its first binding where its subject is known; "" where
 * only its token tells. The changes are for events.
 */
export async function provisionIdentity(
  session: WriteSession,
  provider: string,
  user: {
    readonly externalId?: string;
    readonly userName?: string;
    readonly displayName?: string;
    readonly email?: string;
  },
  nowMs: number,
): Promise<{ readonly identity: string; readonly changes: readonly RowChange[] }> {
  const row = await session.get(identityProviders.table, provider);
  const { externalId = "" } = user;
  if (row === undefined || externalId === "") return { identity: "", changes: [] };
  const message = messageOf(identityProviders, row);
  if (correlatingClaim(message) !== "sub") return { identity: "", changes: [] };
  const { issuer } = oidcOf(message);
  const identity = userIdentityUid(issuer, externalId);
  const claims = {
    iss: issuer,
    sub: externalId,
    name: user.displayName,
    preferred_username: user.userName,
    email: user.email, // which the provisioning client says, and nobody has verified
  } as unknown as Claims;
  const first = await signInFirst(session, [{ uid: provider, groupsClaim: "" }], identity, claims, nowMs);
  return { identity, changes: first?.changes ?? [] };
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
