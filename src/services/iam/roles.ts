/**
 * Roles: named sets of capabilities. Custom roles belong to a group. Built-in roles belong to none, and every caller
 * may read them.
 */
import { create } from "@bufbuild/protobuf";
import { Capability } from "../../../gen/platform/capabilities/capabilities_pb.ts";
import { ListRolesRequestSchema, type Role, RoleSchema, RolesService } from "../../../gen/platform/iam/v2/roles_pb.ts";
import {
  authorityOf,
  capabilities,
  capabilitiesByName,
  capabilityList,
  capabilityNamed,
  holds,
  requireCapabilities,
} from "../../auth/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { failedPrecondition, invalid, permissionDenied } from "../../errors.ts";
import {
  contentOf,
  databaseOf,
  defineResource,
  equalTo,
  findRow,
  implement,
  type MountedService,
  messageOf,
  newRow,
  type Resource,
  removeResource,
  requireResource,
  requireUid,
  toResponse,
} from "../../resource/index.ts";
import type { ReadSession, WriteSession } from "../../store/index.ts";
import { shorten } from "../../violations.ts";
import { builtInRoles, isCurrent } from "./built-in-roles.ts";
import { groups } from "./groups.ts";

export const roles = defineResource({
  schema: RoleSchema,
  list: ListRolesRequestSchema,
  parent: groups,
  onParentDelete: "block",
  invalidatesAuthCache: true,
  columns: { name: { text: (role) => role.name } },
  filters: { name: equalTo("name") },
  publicUids: [...builtInRoles.keys()],
  check({ uid, parent, before, after }, context) {
    if (builtInRoles.has(uid)) throw permissionDenied("built-in roles cannot be changed");
    const holdsInternal = after.capabilities.includes(Capability.CAP_INTERNAL);
    const internal = after.capabilities.filter((capability) => capabilities.get(capability)?.internal === true);
    if (internal.length > 0 && !holdsInternal) {
      throw invalid({
        field: "capabilities",
        description: `${capabilityList(internal)} go only with ${capabilityList([Capability.CAP_INTERNAL])}`,
      });
    }
    const added = after.capabilities.filter((capability) => !before?.capabilities.includes(capability));
    requireHeld(added, holds(authorityOf(context).grants, parent, added));
  },
  async hydrate(messages) {
    for (const role of messages)
      role.capabilities = role.capabilities.filter((capability) => capabilities.has(capability));
  },
});

/** A use of roles that keeps a role from being deleted while it is used. */
interface RoleUse {
  /** Whether the role is used. */
  isUsed(session: ReadSession, role: string): Promise<boolean>;
  /** Completes the error "cannot delete a role that …": `is bound`. */
  readonly description: string;
}

/** Use by a resource that has the uid of the role in a column. */
export function namedIn({ table }: Resource, column: string): RoleUse["isUsed"] {
  return (session, role) => session.exists(table, { where: [{ column, equals: role }] });
}

export function rolesService(uses: readonly RoleUse[]): MountedService {
  return implement(RolesService, [roles], {
    async getRole(request, context) {
      requireUid("uid", request.uid, roles);
      if (!builtInRoles.has(request.uid)) requireCapabilities(context, request.uid, capabilityNamed("roles.list"));
      return toResponse(roles, await findRow(roles, request.uid, context), context);
    },

    async deleteRole(request, context) {
      if (builtInRoles.has(request.uid)) throw permissionDenied("built-in roles cannot be deleted");
      await requireResource(roles, request.uid, context);
      const violations = [];
      for (const { isUsed, description } of uses) {
        if (!(await isUsed(databaseOf(context), request.uid))) continue;
        violations.push({
          type: "RESOURCE_IN_USE",
          subject: request.uid,
          description: `cannot delete a role that ${description}`,
        });
      }
      if (violations.length > 0) throw failedPrecondition(violations);
      await removeResource(roles, request, context);
      return {};
    },
  });
}

/** Stores the built-in roles of this version of the server, and writes only those that differ. */
export async function storeBuiltInRoles(session: WriteSession, nowMs: number): Promise<void> {
  const stored = await session.getMany(roles.table, [...builtInRoles.keys()]);
  for (const [uid, role] of builtInRoles) {
    const row = stored.get(uid);
    const content = contentOf(roles, create(RoleSchema, role as Role));
    if (row === undefined) await session.insert(roles.table, newRow(uid, "", nowMs, content));
    else if (!isCurrent(messageOf(roles, row), role))
      await session.update(roles.table, { ...row, ...content, updateTimeUs: nowMs * 1000 });
  }
}

/** The capability of a name. Errors: INVALID_ARGUMENT on `field`. */
export function capabilityOf(field: string, name: string): Capability {
  const capability = capabilitiesByName.get(name);
  if (capability !== undefined) return capability;
  const near = suggestion(name, capabilitiesByName.keys());
  throw invalid({ field, description: `no capability is named ${JSON.stringify(shorten(name))}${near}` });
}

/** Errors: PERMISSION_DENIED unless the caller holds the added capabilities. */
function requireHeld(added: readonly Capability[], isHeld: boolean): void {
  if (isHeld) return;
  const lacking = capabilityList(added);
  throw permissionDenied(`the role would hold capabilities that you do not: ${lacking}`, { capabilities: lacking });
}
