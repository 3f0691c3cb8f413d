/**
 * Supplies `auth` with grants from the database: the role bindings of the identities of a caller, and the roles that
 * identity providers map to the groups in its token.
 *
 * A user identity may be bound in many organisations, and many may have a provider of its issuer, each with a client of
 * its own. If an organisation has one, bindings there count only for tokens that a provider of the organisation
 * accepts: a token that was made for the client of another organisation, or for this platform itself, must not give
 * access to this one. The same holds for platform tokens that are exchanged for such a token. A token that the operator
 * mints does not come from the issuer.
 */
import type { Capability } from "../../../../gen/platform/capabilities/capabilities_pb.ts";
import { type Caller, capabilities, type Grant, type GrantSource, type ProviderSignIn } from "../../../auth/index.ts";
import { LruMap } from "../../../lru-map.ts";
import { messageOf } from "../../../resource/index.ts";
import type { ReadSession, Row } from "../../../store/index.ts";
import { covers, parentOf, rootOf } from "../../../uid.ts";
import { administratorRoleUid } from "../built-in-roles.ts";
import { externalGroupRoleMappings } from "../external-group-role-mappings.ts";
import { identityProviders } from "../identity-providers.ts";
import { roleBindings } from "../role-bindings.ts";
import { roles } from "../roles.ts";
import { cachedUntilChange } from "./cached-until-change.ts";

const all = { limit: Number.MAX_SAFE_INTEGER };
/** What grants depend on of a caller. */
export type GrantHolder = Pick<Caller, "identities" | "providers" | "outsideIssuer">;

/**
 * Why a role binding grants nothing: its role does not exist, it is outside the subtree of its identity, or `closed`.
 */
export type Withheld = "no role" | "outside" | "closed";

/** The grants of a caller. */
export function grantSource(session: ReadSession): GrantSource {
  const setOf = cacheSets();
  return { grantsOf: cachedUntilChange(session, keyOf, (caller) => readGrants(session, caller, setOf)) };
}

/** The grants of a caller, from the rows as they are now. */
export async function readGrants(
  session: ReadSession,
  caller: GrantHolder,
  setOf: (role: Row) => ReadonlySet<Capability> = capabilitiesOf,
): Promise<readonly Grant[]> {
  const { identities, providers = [] } = caller;
  const [bindings, mappings] = await Promise.all([
    session.list(roleBindings.table, { where: [{ column: "identity_uid", in: identities }], ...all }),
    mappingsOf(session, providers),
  ]);
  const roleUids = [...bindings, ...mappings].map((row) => String(row.columns.role_uid));
  const [roleRows, closed] = await Promise.all([
    session.getMany(roles.table, [...new Set(roleUids)]),
    closedOrganisations(session, caller, bindings),
  ]);
  const bound = bindings.flatMap((binding): Grant[] => {
    const role = roleRows.get(String(binding.columns.role_uid));
    if (role === undefined || withheldOf(binding, role, closed) !== undefined) return [];
    return [
      {
        scope: scopeOfBinding(binding),
        capabilities: setOf(role),
        identity: String(binding.columns.identity_uid),
      },
    ];
  });
  const user = identities.find((uid) => parentOf(uid) === "") ?? "";
  const mapped = mappings.flatMap((mapping): Grant[] => {
    const role = roleRows.get(String(mapping.columns.role_uid));
    return role === undefined ? [] : [{ scope: rootOf(mapping.parent), capabilities: setOf(role), identity: user }];
  });
  return [...bound, ...mapped];
}

/**
 * Why a binding grants nothing, if so. `closed`: the organisations whose identity providers have not accepted the token
 * of a user.
 */
export function withheldOf(binding: Row, role: Row | undefined, closed: ReadonlySet<string>): Withheld | undefined {
  const confinement = parentOf(String(binding.columns.identity_uid));
  if (role === undefined) return "no role";
  if (!covers(confinement, binding.parent)) return "outside";
  return confinement === "" && closed.has(rootOf(binding.parent)) ? "closed" : undefined;
}

/** Where a binding counts: its group, or the whole platform. */
export function scopeOfBinding({ parent, columns }: Row): string {
  return columns.role_uid === administratorRoleUid ? "" : parent;
}

/** Everything that grants depend on besides rows. */
function keyOf(caller: Caller): string {
  const { identities, providers } = caller;
  const issuer = userIssuerOf(caller);
  return providers === undefined && issuer === undefined
    ? identities.join()
    : JSON.stringify([identities, providers, issuer]);
}

/** The issuer of the user that the caller is, if it is one and came with a token of that issuer. */
function userIssuerOf({ identities, outsideIssuer }: GrantHolder): string | undefined {
  return identities.some((uid) => parentOf(uid) === "") ? outsideIssuer : undefined;
}

/** The mappings of the groups in the token. */
async function mappingsOf(session: ReadSession, providers: readonly ProviderSignIn[]): Promise<Row[]> {
  const lists = providers.map(({ uid, externalGroups }) =>
    session.list(externalGroupRoleMappings.table, {
      parent: uid,
      where: [{ column: "external_group_id", in: externalGroups }],
      ...all,
    }),
  );
  return (await Promise.all(lists)).flat();
}

/**
 * The organisations of `bindings` that have a provider of the issuer of the user, none of which has accepted the token.
 */
async function closedOrganisations(
  session: ReadSession,
  caller: GrantHolder,
  bindings: readonly Row[],
): Promise<ReadonlySet<string>> {
  const issuer = userIssuerOf(caller);
  if (issuer === undefined) return new Set();
  const open = new Set((caller.providers ?? []).map(({ uid }) => rootOf(uid)));
  const others = bindings.map(({ parent }) => rootOf(parent)).filter((organisation) => !open.has(organisation));
  return organisationsWithProvider(session, issuer, others);
}

/** Those of the organisations that have an identity provider of an issuer. */
export async function organisationsWithProvider(
  session: ReadSession,
  issuer: string,
  organisations: readonly string[],
): Promise<ReadonlySet<string>> {
  if (organisations.length === 0) return new Set();
  const where = [
    { column: "issuer", equals: issuer },
    { column: "parent", in: [...new Set(organisations)] },
  ];
  const rows = await session.list(identityProviders.table, { where, ...all });
  return new Set(rows.map(({ parent }) => parent));
}

/** The capabilities of a role that this server knows. */
export function capabilitiesOf(role: Row): ReadonlySet<Capability> {
  return new Set(messageOf(roles, role).capabilities.filter((capability) => capabilities.has(capability)));
}

/** The capability sets of roles, decoded once per version of a row. */
function cacheSets(): (role: Row) => ReadonlySet<Capability> {
  const cache = new LruMap<string, ReadonlySet<Capability>>(10_000);
  return (role) => {
    const key = `${role.uid} ${role.createTimeUs}-${role.version}`;
    const set = cache.get(key) ?? capabilitiesOf(role);
    cache.set(key, set);
    return set;
  };
}
