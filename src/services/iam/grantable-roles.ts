/**
 * Which roles may be granted, and by whom. A caller who grants a role, by a binding or by the promise of one, must hold
 * all its capabilities at the scope of the grant, so no grant gives more than its author has. Credentials count as
 * capabilities: a caller who decides which tokens act as an identity must hold everything that the bindings of the
 * identity grant.
 */
import type { HandlerContext } from "@connectrpc/connect";
import type { Role } from "../../../gen/platform/iam/v2/roles_pb.ts";
import { authorityOf, capabilityList, holds } from "../../auth/index.ts";
import { permissionDenied } from "../../errors.ts";
import { databaseOf, messageOf } from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { covers } from "../../uid.ts";
import { administratorRole, administratorRoleUid } from "./built-in-roles.ts";
import { roles } from "./roles.ts";

/**
 * The role with that uid if it can be granted in `group`: a built-in role, or one of the group or of a group above it.
 */
export async function grantableRole(session: ReadSession, uid: string, group: string): Promise<Role | undefined> {
  const row = await session.get(roles.table, uid);
  return row !== undefined && covers(row.parent, group) ? messageOf(roles, row) : undefined;
}

/**
 * Errors: PERMISSION_DENIED unless the caller holds all capabilities of `role` at `group`; always for the role of the
 * administrator.
 */
export function requireGrantable(role: Role, group: string, context: HandlerContext): void {
  if (role.uid === administratorRoleUid)
    throw permissionDenied(`the role ${administratorRole} is granted only at initialisation`, {
      role: administratorRole,
    });
  const { grants } = authorityOf(context);
  const lacking = role.capabilities.filter((capability) => !holds(grants, group, [capability]));
  if (lacking.length > 0)
    throw permissionDenied(`the role holds capabilities that you do not: ${capabilityList(lacking)}`, {
      capabilities: capabilityList(lacking),
    });
}

/**
 * Errors: PERMISSION_DENIED unless the caller holds everything that these role bindings grant. The text does not name
 * what is missing: who may change an identity need not be allowed to see its bindings.
 */
export async function requireAllGranted(bindings: readonly Row[], context: HandlerContext): Promise<void> {
  const { grants } = authorityOf(context);
  const bound = await databaseOf(context).getMany(roles.table, [...new Set(bindings.map(roleUidOf))]);
  for (const binding of bindings) {
    const row = bound.get(roleUidOf(binding));
    if (row === undefined) continue;
    const scope = row.uid === administratorRoleUid ? "" : binding.parent;
    if (!holds(grants, scope, messageOf(roles, row).capabilities))
      throw permissionDenied("this changes who can act as an identity whose role bindings grant more than you hold");
  }
}

function roleUidOf({ columns }: Row): string {
  return String(columns.role_uid);
}
