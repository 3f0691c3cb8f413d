/**
 * Group invites: who accepts one by its code is bound to its role in its group.
 *
 * The code is shown once. Its digest is stored in its place and removed from every message that leaves. An invite
 * promises a binding, so a caller who creates or changes one must hold all capabilities of its role. Like a binding it
 * does not depend on its author afterwards. It is listed, it expires, and managers of the group can delete it.
 *
 * A wrong, expired or used code and an invite that is not for the caller have the same answer. An invite is for the
 * caller when:
 *
 * - an identity of the caller may be bound in the group: it lives in the group or above it, or it is at the root;
 * - the address of the invite, if it has one, is that of the caller. An issuer can claim to have verified any address,
 *   so only issuers that the organisation has chosen count: the caller must be a user whose issuer is that of an
 *   identity provider of the root group. Addresses are equal when their local parts are equal and their domains are
 *   equal without regard to case (RFC 5321, section 2.4).
 */
import { create } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { ConnectError, HandlerContext } from "@connectrpc/connect";
import {
  type GroupInvite,
  GroupInviteRoleSchema,
  GroupInviteSchema,
  GroupInvitesService,
  ListGroupInvitesRequestSchema,
} from "../../../gen/platform/iam/v2/group_invites_pb.ts";
import { RoleBindingSchema } from "../../../gen/platform/iam/v2/role_bindings_pb.ts";
import { callerOf, capabilities } from "../../auth/index.ts";
import { invalid, notFound } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  environmentOf,
  equalTo,
  implement,
  insertResource,
  messageOf,
  removeRow,
  storeResource,
  toResponse,
  transactionOf,
} from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { parentOf, rootOf } from "../../uid.ts";
import { lockAccess } from "./access-lock.ts";
import { actingIdentity, isBindable, rootIdentityOf } from "./acting-identity.ts";
import { grantableRole, requireGrantable } from "./grantable-roles.ts";
import { groups } from "./groups.ts";
import { identities } from "./identities.ts";
import { identityProviders } from "./identity-providers.ts";
import { createInviteCode, keyIdOf, matchesDigest } from "./invite-code.ts";
import { roleBindings } from "./role-bindings.ts";
import { roles } from "./roles.ts";

export const groupInvites = defineResource({
  schema: GroupInviteSchema,
  list: ListGroupInvitesRequestSchema,
  parent: groups,
  onParentDelete: "cascade",
  columns: { key_id: { text: (invite) => invite.keyId }, expire_us: { integer: endUs } },
  filters: { keyId: equalTo("key_id") },
  defaultOrder: [{ column: "create_time_us", descending: true }],
  async check({ parent, after }, context) {
    const role = await grantableRole(databaseOf(context), after.roleUid, parent);
    if (role === undefined)
      throw invalid({ field: "role_uid", description: "no role that can be bound in this group" });
    requireGrantable(role, parent, context);
    if (after.ttl === undefined) return;
    after.expirationTime = timestampFromMs(environmentOf(context).nowMs + Math.trunc(durationMs(after.ttl)));
    after.ttl = undefined;
  },
  async hydrate(invites, _rows, session) {
    const roleRows = await session.getMany(roles.table, [...new Set(invites.map(({ roleUid }) => roleUid))]);
    for (const invite of invites) {
      invite.code = "";
      const row = roleRows.get(invite.roleUid);
      if (row === undefined) continue;
      const { uid, name, description, capabilities: all } = messageOf(roles, row);
      const known = all.filter((capability) => capabilities.has(capability));
      invite.role = create(GroupInviteRoleSchema, { uid, name, description, capabilities: known });
    }
  },
});

export const groupInvitesService = implement(GroupInvitesService, [groupInvites], {
  async createGroupInvite({ parent, groupInvite }, context) {
    const { code, keyId, digest } = createInviteCode(parent);
    const output = { keyId, code: digest };
    const row = await insertResource(groupInvites, parent, groupInvite, context, { output });
    return Object.assign(await toResponse(groupInvites, row, context), { code });
  },

  async acceptGroupInvite({ code }, context) {
    const { uid } = await findByCode(code, context);
    await lockAccess(transactionOf(context), uid);
    const invite = await findByCode(code, context); // another call may have used it meanwhile
    const group = parentOf(invite.uid);
    const invitee = await addresseeOf(invite, group, context);
    if (invite.singleUse) await removeRow(groupInvites, invite.uid, context);
    return toResponse(roleBindings, await bind(invitee, group, invite.roleUid, context), context);
  },
});

/** How long an expired invite is kept, since its expiry can be extended. */
const keptMs = 7 * 86_400_000;

/** When an invite is removed, in microseconds since 1970. */
function endUs({ expirationTime }: GroupInvite): number {
  return expirationTime === undefined ? 0 : (timestampMs(expirationTime) + keptMs) * 1000;
}

/** The same of a row, whose column may not be filled. */
export function endOfInvite(row: Row): number {
  return endUs(messageOf(groupInvites, row));
}

/** The valid invite with this code. Errors: NOT_FOUND. */
async function findByCode(code: string, context: HandlerContext): Promise<GroupInvite> {
  const where = [{ column: "key_id", equals: keyIdOf(code) }];
  const row = await databaseOf(context).first(groupInvites.table, { where });
  const invite = row && messageOf(groupInvites, row);
  const isCorrect = matchesDigest(code, invite?.code);
  const expireTimeMs = invite?.expirationTime === undefined ? 0 : timestampMs(invite.expirationTime);
  if (invite === undefined || !isCorrect || expireTimeMs <= environmentOf(context).nowMs) throw noSuchInvite();
  return invite;
}

/**
 * The identity of the caller that the invite is for. Errors: NOT_FOUND when it is not for the caller, or its role does
 * not exist any more; FAILED_PRECONDITION when the token stands for no identity that can be bound.
 */
async function addresseeOf(invite: GroupInvite, group: string, context: HandlerContext): Promise<string> {
  const session = databaseOf(context);
  const { email, principal } = callerOf(context);
  if ((await grantableRole(session, invite.roleUid, group)) === undefined) throw noSuchInvite();
  if (invite.email === "") {
    const isRestricted = principal === undefined; // and what it is restricted to is not of this organisation
    if (isRestricted && !isBindable(group, context)) throw noSuchInvite();
    return actingIdentity(group, context);
  }
  const user = rootIdentityOf(context);
  const row = user === undefined ? undefined : await session.get(identities.table, user);
  const isTrusted =
    row !== undefined &&
    (await session.exists(identityProviders.table, {
      parent: rootOf(group),
      where: [{ column: "issuer", equals: String(row.columns.issuer) }],
    }));
  if (!isTrusted || email === undefined || !isSameAddress(email, invite.email)) throw noSuchInvite();
  return user!;
}

/**
 * Whether an invite promises a role, which is possible in the group of the role and below. Roles are rarely deleted, so
 * there is no column for it.
 */
export async function isPromised(session: ReadSession, role: string): Promise<boolean> {
  const within = [{ root: parentOf(role), self: true }];
  for await (const rows of session.pages(groupInvites.table, { within, limit: 1000 }))
    if (rows.some((row) => messageOf(groupInvites, row).roleUid === role)) return true;
  return false;
}

/** Binds an identity, or returns the binding that exists. */
async function bind(identityUid: string, group: string, roleUid: string, context: HandlerContext): Promise<Row> {
  const existing = await databaseOf(context).first(roleBindings.table, {
    parent: group,
    where: [
      { column: "identity_uid", equals: identityUid },
      { column: "role_uid", equals: roleUid },
    ],
  });
  return existing ?? storeResource(roleBindings, group, create(RoleBindingSchema, { identityUid, roleUid }), context);
}

function isSameAddress(a: string, b: string): boolean {
  const normal = (address: string) => {
    const at = address.lastIndexOf("@");
    return address.slice(0, at) + address.slice(at).toLowerCase();
  };
  return normal(a) === normal(b);
}

/** The caller gave no uid, and codes are secret, so none is named. */
function noSuchInvite(): ConnectError {
  return notFound({ type: groupInvites.contract.type, uid: "" }, "no invite that you can accept has this code");
}
