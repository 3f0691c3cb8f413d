/**
 * The first group and its administrator, created when a database is initialised. They are the only rows that are
 * written without authorization.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { GroupSchema, OrgStatus } from "../../../gen/platform/iam/v2/groups_pb.ts";
import { IdentitySchema } from "../../../gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingSchema } from "../../../gen/platform/iam/v2/role_bindings_pb.ts";
import { newUid, userIdentityUid } from "../../new-uid.ts";
import { contentOf, newRow } from "../../resource/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";
import { administratorRoleUid } from "./built-in-roles.ts";
import { groups } from "./groups.ts";
import { identities } from "./identities.ts";
import { roleBindings } from "./role-bindings.ts";
import { storeBuiltInRoles } from "./roles.ts";

const administratorSubject = "administrator";

/** Creates the built-in roles and the first group, a root group with this uid, unless they exist. */
export async function ensureFirstGroup(session: WriteSession, uid: string, nowMs: number): Promise<void> {
  await storeBuiltInRoles(session, nowMs);
  if (await session.exists(groups.table, { uids: [uid] })) return;
  const group = create(GroupSchema, { name: "platform", description: "The first group", status: OrgStatus.READY });
  await session.insert(groups.table, newRow(uid, "", nowMs, contentOf(groups, group)));
}

/**
 * Creates the administrator and its binding in `group` unless they exist, and returns its uid. `issuer` is the own
 * issuer of the platform, so no token of another issuer matches the administrator.
 */
export async function ensureAdministrator(
  session: WriteSession,
  group: string,
  issuer: string,
  nowMs: number,
): Promise<string> {
  const uid = userIdentityUid(issuer, administratorSubject);
  if (!(await session.exists(identities.table, { uids: [uid] }))) {
    const rule = {
      iss: { case: "issuer", value: issuer },
      sub: { case: "subject", value: administratorSubject },
    } as const;
    const identity = create(IdentitySchema, {
      name: administratorSubject,
      description: "The first administrator",
      lastSeenTime: timestampFromMs(nowMs),
      relationship: { case: "claimMatch", value: rule },
    });
    await session.insert(identities.table, newRow(uid, "", nowMs, contentOf(identities, identity)));
  }
  if (!(await isAdministrator(session, uid))) {
    const binding = create(RoleBindingSchema, { identityUid: uid, roleUid: administratorRoleUid });
    await session.insert(roleBindings.table, newRow(newUid(group), group, nowMs, contentOf(roleBindings, binding)));
  }
  return uid;
}

/** Whether the identity exists and has the role of administrators. */
export async function hasAdministrator(session: ReadSession, uid: string): Promise<boolean> {
  return (await identityExists(session, uid)) && isAdministrator(session, uid);
}

/** Whether an identity has the role of administrators. */
export function isAdministrator(session: ReadSession, uid: string): Promise<boolean> {
  const where = [
    { column: "identity_uid", equals: uid },
    { column: "role_uid", equals: administratorRoleUid },
  ];
  return session.exists(roleBindings.table, { where });
}

/** Whether a group with this uid exists. */
export function groupExists(session: ReadSession, uid: string): Promise<boolean> {
  return session.exists(groups.table, { uids: [uid] });
}

/** Whether an identity with this uid exists. */
export function identityExists(session: ReadSession, uid: string): Promise<boolean> {
  return session.exists(identities.table, { uids: [uid] });
}
