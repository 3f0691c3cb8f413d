/**
 * Supplies `auth` with grants, from rows, live: role bindings of the caller's identities, and the roles that identity providers
 * map to the groups which the token names.
 *
 * A user identity may be bound in many organisations, and many may have a provider of its issuer, each with a client of its own there. Where an
 * organisation has one, what is bound there counts only for tokens which a provider of that organisation accepts: a token that the issuer made
 * for another organisation's client, or for this platform as such, must not open this one. So it is for tokens of our own that these are exchanged
 * for. A token that the operator mints is none of the issuer's.
 */
import type { Capability } from "../../../gen/platform/capabilities/capabilities_pb.ts";
import { type Caller, capabilities, type Grant, type GrantSource, type ProviderSignIn } from "../../auth/index.ts";
import { messageOf } from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { covers, parentOf, rootOf } from "../../uid.ts";
import { administratorRole, builtInRoleUid } from "./built-in-roles.ts";
import { externalGroupRoleMappings } from "./external-group-role-mappings.ts";
import { identityProviders } from "./identity-providers.ts";
import { remembered } from "./remembered.ts";
import { roleBindings } from "./role-bindings.ts";
import { roles } from "./roles.ts";

const all = { orderBy: [{ column: "uid", descending: false }], skip: 0, limit: Number.MAX_SAFE_INTEGER };
const administratorRoleUid = builtInRoleUid(administratorRole);

/** Grants of a caller. A binding outside its identity's own subtree grants nothing. */
export function grantSource(session: ReadSession): GrantSource {
  const setOf = rememberSets();
  return {
    grantsOf: remembered(session, keyOf, async (caller) => {
      const { identities, providers = [] } = caller;
      const [bindings, mappings] = await Promise.all([
        session.list(roleBindings.table, { where: [{ column: "identity_uid", in: identities }], ...all }),
        mappingsOf(session, providers),
      ]);
      const roleUids = [...bindings, ...mappings].map((row) => String(row.facets.role_uid));
      const [roleRows, closed] = await Promise.all([
        session.getMany(roles.table, [...new Set(roleUids)]),
        closedOrganisations(session, caller, bindings),
      ]);
      const bound = bindings.flatMap((binding): Grant[] => {
        const role = roleRows.get(String(binding.facets.role_uid));
        const confinement = parentOf(String(binding.facets.identity_uid));
        if (role === undefined || !covers(confinement, binding.parent)) return [];
        if (confinement === "" && closed.has(rootOf(binding.parent))) return [];
        return [{ scope: role.uid === administratorRoleUid ? "" : binding.parent, capabilities: setOf(role) }];
      });
      const mapped = mappings.flatMap((mapping): Grant[] => {
        const role = roleRows.get(String(mapping.facets.role_uid));
        return role === undefined ? [] : [{ scope: rootOf(mapping.parent), capabilities: setOf(role) }];
      });
      return [...bound, ...mapped];
    }),
  };
}

/** What grants depend on beside rows. */
function keyOf(caller: Caller): string {
  const { identities, providers } = caller;
  const issuer = userIssuerOf(caller);
  return providers === undefined && issuer === undefined
    ? identities.join()
    : JSON.stringify([identities, providers, issuer]);
}

/** The issuer whose user the caller is, if it is one and has come with its token. */
function userIssuerOf({ identities, outsideIssuer }: Caller): string | undefined {
  return identities.some((uid) => parentOf(uid) === "") ? outsideIssuer : undefined;
}

/** What the providers map to the groups that the token names. */
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

/** The organisations of `bindings` that have a provider of the user's issuer and none that has accepted the token. */
async function closedOrganisations(
  session: ReadSession,
  caller: Caller,
  bindings: readonly Row[],
): Promise<ReadonlySet<string>> {
  const issuer = userIssuerOf(caller);
  if (issuer === undefined) return new Set();
  const open = new Set((caller.providers ?? []).map(({ uid }) => rootOf(uid)));
  const others = bindings.map(({ parent }) => rootOf(parent)).filter((organisation) => !open.has(organisation));
  if (others.length === 0) return new Set();
  const where = [
    { column: "issuer", equals: issuer },
    { column: "parent", in: [...new Set(others)] },
  ];
  const closed = await session.list(identityProviders.table, { where, ...all });
  return new Set(closed.map(({ parent }) => parent));
}

/** Decoded capability sets by role; a row's version tells whether the one remembered still holds. */
function rememberSets(): (role: Row) => ReadonlySet<Capability> {
  const remembered = new Map<string, { etag: string; set: ReadonlySet<Capability> }>();
  return (role) => {
    const etag = `${role.createTimeUs}-${role.version}`;
    const known = remembered.get(role.uid);
    if (known?.etag === etag) return known.set;
    const set = new Set(messageOf(roles, role).capabilities.filter((capability) => capabilities.has(capability)));
    if (remembered.size >= 10_000) remembered.clear();
    remembered.set(role.uid, { etag, set });
    return set;
  };
}
