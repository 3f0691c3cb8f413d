/**
 * Which roles may be granted, and by whom. Whoever grants a role, by a binding or by a promise of one, holds everything that it holds at the
 * scope of the grant; so no grant gives more than its maker had.
 */
import type { HandlerContext } from "@connectrpc/connect";
import type { Role } from "../../../gen/platform/iam/v2/roles_pb.ts";
import { authorityOf, capabilityName, holds } from "../../auth/index.ts";
import { permissionDenied } from "../../errors.ts";
import { messageOf } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { covers } from "../../uid.ts";
import { administratorRole, builtInRoleUid } from "./built-in-roles.ts";
import { roles } from "./roles.ts";

/** The role with that uid, if it can be granted in `group`: a built-in one, or one of the group or of a group above. */
export async function grantableRole(session: ReadSession, uid: string, group: string): Promise<Role | undefined> {
  const row = await session.get(roles.table, uid);
  return row !== undefined && covers(row.parent, group) ? messageOf(roles, row) : undefined;
}

/** Errors: PERMISSION_DENIED unless the caller holds at `group` whatever `role` does; always for the administrator's role. */
export function requireGrantable(role: Role, group: string, context: HandlerContext): void {
  if (role.uid === builtInRoleUid(administratorRole))
    throw permissionDenied(`the role ${administratorRole} is granted only at initialisation`);
  const { grants } = authorityOf(context);
  const lacking = role.capabilities.filter((capability) => !holds(grants, group, [capability]));
  if (lacking.length > 0)
    throw permissionDenied(`the role holds capabilities that you do not: ${lacking.map(capabilityName).join(", ")}`);
}
