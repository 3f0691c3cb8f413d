/**
 * Which roles may be granted, and by whom. Whoever grants a role, by a binding or by a promise of one, holds everything that it holds at the
 * scope of the grant; so no grant gives more than its maker had. Credentials are capabilities: whoever decides which tokens act as an identity
 * holds everything that the identity's bindings grant.
 */
import type { HandlerContext } from "@connectrpc/connect";
import type { Role } from "../../../gen/platform/iam/v2/roles_pb.ts";
import { authorityOf, capabilityList, holds } from "../../auth/index.ts";
import { permissionDenied } from "../../errors.ts";
import { databaseOf, messageOf } from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
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
    throw permissionDenied(`the role holds capabilities that you do not: ${capabilityList(lacking)}`);
}

/**
 * Errors: PERMISSION_DENIED unless the caller holds all that these role bindings grant, wherever they grant it. The text does not say what is lacking:
 * who may change an identity need not see what it is bound to.
 */
export async function requireAllGranted(bindings: readonly Row[], context: HandlerContext): Promise<void> {
  const { grants } = authorityOf(context);
  const bound = await databaseOf(context).getMany(roles.table, [...new Set(bindings.map(roleUidOf))]);
  for (const binding of bindings) {
    const row = bound.get(roleUidOf(binding));
    if (row === undefined) continue;
    const scope = row.uid === builtInRoleUid(administratorRole) ? "" : binding.parent;
    if (!holds(grants, scope, messageOf(roles, row).capabilities))
      throw permissionDenied("this changes who can act as an identity whose role bindings grant more than you hold");
  }
}

function roleUidOf({ facets }: Row): string {
  return String(facets.role_uid);
}
