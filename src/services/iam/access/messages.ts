/**
 * Found grants as messages. Of an identity, a role, a group, a mapping or an invite that the reader may not get, they
 * have the uid alone.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AccessGroup,
  AccessGroupSchema,
  type AccessIdentity,
  AccessIdentitySchema,
  type AccessRole,
  AccessRoleSchema,
  type Grant,
  GrantSchema,
} from "../../../../gen/platform/access/v1/access_pb.ts";
import { capabilityNamed, holds } from "../../../auth/index.ts";
import { messageOf } from "../../../resource/index.ts";
import type { ReadSession } from "../../../store/index.ts";
import { covers, parentOf } from "../../../uid.ts";
import { builtInRoles } from "../built-in-roles.ts";
import { groupInvites } from "../group-invites.ts";
import { groups } from "../groups.ts";
import { identities } from "../identities.ts";
import { roles } from "../roles.ts";
import { type FoundGrant, mayGetIdentity, type Reader } from "./found-grants.ts";

const readingRoles = [capabilityNamed("roles.list")];
const readingGroups = [capabilityNamed("groups.list")];
const readingBindings = [capabilityNamed("role_bindings.list")];
const readingProviders = [capabilityNamed("identity_providers.list")];
const readingInvites = [capabilityNamed("group_invites.list")];

/** The messages of grants that count at `scope`; without one, wherever they count. */
export async function grantMessages(
  session: ReadSession,
  reader: Reader,
  found: readonly FoundGrant[],
  scope?: string,
): Promise<Grant[]> {
  const [ofIdentities, ofRoles, ofGroups] = await Promise.all([
    identityMessages(
      session,
      reader,
      found.flatMap(({ identity }) => identity || []),
    ),
    roleMessages(
      session,
      reader,
      found.map(({ role }) => role),
    ),
    groupMessages(
      session,
      reader,
      found.flatMap((grant) => grant.scope || []),
    ),
  ]);
  const isNear = (group: string) => scope === undefined || covers(group, scope) || covers(scope, group);
  return found.map((grant) => {
    const { source, state, condition, binding, mapping, invite } = grant;
    const message: MessageInitShape<typeof GrantSchema> = { source, state, condition };
    if (grant.identity !== "") message.identity = ofIdentities.get(grant.identity)!;
    message.role = ofRoles.get(grant.role)!;
    if (grant.scope !== "") message.group = ofGroups.get(grant.scope)!;
    message.inherited = scope !== undefined && grant.scope !== scope && covers(grant.scope, scope);
    if (binding !== undefined && (isNear(parentOf(binding)) || holds(reader.grants, binding, readingBindings)))
      message.binding = binding;
    if (grant.provider !== undefined) message.identityProvider = grant.provider;
    if (mapping !== undefined) {
      message.groupMapping = mapping.uid;
      if (holds(reader.grants, mapping.uid, readingProviders))
        message.externalGroup = String(mapping.columns.external_group_id);
    }
    if (invite !== undefined) {
      const { email, expirationTime } = messageOf(groupInvites, invite);
      message.groupInvite = invite.uid;
      if (holds(reader.grants, invite.uid, readingInvites)) message.email = email;
      if (expirationTime !== undefined) message.expireTime = expirationTime;
    }
    return create(GrantSchema, message);
  });
}

/** Identities in brief, by uid. */
export async function identityMessages(
  session: ReadSession,
  reader: Reader,
  uids: readonly string[],
): Promise<Map<string, AccessIdentity>> {
  const readable = [...new Set(uids)].filter((uid) => mayGetIdentity(reader, uid));
  const rows = await session.getMany(identities.table, readable);
  return byUid(uids, (uid) => {
    const row = rows.get(uid);
    const { name = "", email = "" } = row === undefined ? {} : messageOf(identities, row);
    return create(AccessIdentitySchema, { uid, name, email });
  });
}

/** Roles in brief, by uid. */
export async function roleMessages(
  session: ReadSession,
  { grants }: Reader,
  uids: readonly string[],
): Promise<Map<string, AccessRole>> {
  const isReadable = (uid: string) => builtInRoles.has(uid) || holds(grants, uid, readingRoles);
  const rows = await session.getMany(roles.table, [...new Set(uids)].filter(isReadable));
  return byUid(uids, (uid) => {
    const row = rows.get(uid);
    return create(AccessRoleSchema, { uid, name: row === undefined ? "" : messageOf(roles, row).name });
  });
}

/** Groups in brief, by uid. */
export async function groupMessages(
  session: ReadSession,
  { grants }: Reader,
  uids: readonly string[],
): Promise<Map<string, AccessGroup>> {
  const readable = [...new Set(uids)].filter((uid) => holds(grants, uid, readingGroups));
  const rows = await session.getMany(groups.table, readable);
  return byUid(uids, (uid) => {
    const row = rows.get(uid);
    return create(AccessGroupSchema, { uid, name: row === undefined ? "" : messageOf(groups, row).name });
  });
}

function byUid<T>(uids: readonly string[], make: (uid: string) => T): Map<string, T> {
  return new Map([...new Set(uids)].map((uid) => [uid, make(uid)]));
}
