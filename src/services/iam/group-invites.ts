/**
 * Group invites: whoever accepts one by its code is bound to its role in its group.
 *
 * The code is shown once; its digest is stored in its place and taken out of every message that leaves. An invite promises a binding, so whoever
 * makes or changes one holds all that its role does. Like a binding it then stands by itself: what its maker loses later does not revoke it. It is
 * listed, it expires, and whoever manages the group deletes it.
 *
 * A code that is wrong, expired or used up, and an invite that is not for the caller, cannot be told apart. An invite is for the caller when:
 * - the acting identity may be bound in the group: it lives at root level, or in the group or above it;
 * - an address, if the invite has one, is the caller's. An issuer can say of any address that it verified it, so only those count that the
 *   organisation has chosen: the caller is a user whose issuer is that of an identity provider of the group's root. Addresses are the same when the
 *   part before the `@` is equal and the domain is equal but for its case (RFC 5321, section 2.4).
 */
import { create } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { ConnectError, HandlerContext } from "@connectrpc/connect";
import {
  type AcceptGroupInviteRequest,
  type CreateGroupInviteRequest,
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
  present,
  removeRow,
  standardMethods,
  storeResource,
} from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { covers, parentOf, rootOf } from "../../uid.ts";
import { grantableRole, requireGrantable } from "./grantable-roles.ts";
import { groups } from "./groups.ts";
import { identities } from "./identities.ts";
import { identityProviders } from "./identity-providers.ts";
import { createInviteCode, keyIdOf, matchesDigest } from "./invite-code.ts";
import { portionsOf } from "./portions.ts";
import { roleBindings } from "./role-bindings.ts";
import { roles } from "./roles.ts";

export const groupInvites = defineResource({
  schema: GroupInviteSchema,
  list: ListGroupInvitesRequestSchema,
  parent: groups,
  facets: { key_id: { text: (invite) => invite.keyId } },
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

export const groupInvitesService = implement(GroupInvitesService, standardMethods(GroupInvitesService, groupInvites), {
  async createGroupInvite({ parent, groupInvite }: CreateGroupInviteRequest, context) {
    const { code, keyId, digest } = createInviteCode(parent);
    const output = { keyId, code: digest };
    const row = await insertResource(groupInvites, parent, groupInvite, context, { output });
    return Object.assign(await present(groupInvites, row, context), { code });
  },

  async acceptGroupInvite({ code }: AcceptGroupInviteRequest, context) {
    const invite = await findByCode(code, context);
    const group = parentOf(invite.uid);
    await requireAddressee(invite, group, context);
    if (invite.singleUse) await removeRow(groupInvites, invite.uid, context);
    return present(roleBindings, await bindCaller(group, invite.roleUid, context), context);
  },
});

/** The invite that can still be accepted with `code`. Errors: NOT_FOUND. */
async function findByCode(code: string, context: HandlerContext): Promise<GroupInvite> {
  const [row] = await databaseOf(context).list(groupInvites.table, {
    where: [{ column: "key_id", equals: keyIdOf(code) }],
    orderBy: [],
    skip: 0,
    limit: 1,
  });
  const invite = row && messageOf(groupInvites, row);
  const isRight = matchesDigest(code, invite?.code);
  const expireTimeMs = invite?.expirationTime === undefined ? 0 : timestampMs(invite.expirationTime);
  if (invite === undefined || !isRight || expireTimeMs <= environmentOf(context).nowMs) throw noSuchInvite();
  return invite;
}

/** Errors: NOT_FOUND when the invite is not for the caller, or its role is gone. */
async function requireAddressee(invite: GroupInvite, group: string, context: HandlerContext): Promise<void> {
  const session = databaseOf(context);
  const { subject, email } = callerOf(context);
  const identity = await session.get(identities.table, subject);
  const role = await grantableRole(session, invite.roleUid, group);
  if (identity === undefined || !covers(identity.parent, group) || role === undefined) throw noSuchInvite();
  if (invite.email === "") return;
  const isTrusted =
    identity.parent === "" &&
    (await session.exists(identityProviders.table, {
      parent: rootOf(group),
      where: [{ column: "issuer", equals: String(identity.facets.issuer) }],
    }));
  if (!isTrusted || email === undefined || !isSameAddress(email, invite.email)) throw noSuchInvite();
}

/** Whether an invite promises a role, which can only be one to the role's own group or below. There is no column of it: few roles are deleted. */
export async function isPromised(session: ReadSession, role: string): Promise<boolean> {
  const within = [{ root: parentOf(role), self: true }];
  for await (const rows of portionsOf(session, groupInvites.table, { within }))
    if (rows.some((row) => messageOf(groupInvites, row).roleUid === role)) return true;
  return false;
}

/** Binds the acting identity, or gives the binding that it has already: accepting twice is no second grant. */
async function bindCaller(group: string, roleUid: string, context: HandlerContext): Promise<Row> {
  const identityUid = callerOf(context).subject;
  const [existing] = await databaseOf(context).list(roleBindings.table, {
    parent: group,
    where: [
      { column: "identity_uid", equals: identityUid },
      { column: "role_uid", equals: roleUid },
    ],
    orderBy: [],
    skip: 0,
    limit: 1,
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

/** Names no uid: the caller gave none, and codes are secret. */
function noSuchInvite(): ConnectError {
  return notFound({ type: groupInvites.contract.type, uid: "" }, "no invite that you can accept has this code");
}
