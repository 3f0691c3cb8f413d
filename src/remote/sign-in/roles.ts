/** The roles of the caller, as far as the caller may list them. */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type JsonObject,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { PlatformError } from "../../client/index.ts";
import { rootOf } from "../../uid.ts";
import { contractRegistry } from "../catalog/descriptors.ts";
import { jsonOf } from "../print/print.ts";
import type { Session } from "../session/session.ts";

/** Something with a name, if the caller may know it. */
export interface Named {
  readonly uid: string;
  readonly name?: string;
}

/** A role that counts in a group and below it. */
export interface HeldRole {
  readonly role: Named;
  readonly group: Named;
  /** The group at the identity provider whose members have the role; absent for a role binding. */
  readonly externalGroup?: string;
}

/** What is known of roles. */
export interface Roles {
  readonly held: readonly HeldRole[];
  /** false where there may be others, because the caller may not list all. */
  readonly areComplete: boolean;
}

/** What a token of the platform says beside its identity. */
export interface TokenFacts {
  /** The uid of the identity. */
  readonly uid: string;
  /** The uid of the identity provider that signed the user in. */
  readonly identityProvider?: string | undefined;
  /** The groups of the user at the identity provider. */
  readonly externalGroups: readonly string[];
}

/** The page of the largest size. */
const pageSize = 200;

/** The roles by role bindings, and those by the groups in the token. */
export async function rolesOf(session: Session, facts: TokenFacts): Promise<Roles> {
  const { uid, identityProvider, externalGroups } = facts;
  const [bound, mapped] = await Promise.all([boundRoles(session, uid), mappedRoles(session, facts)]);
  const mayBelong = [uid.includes("/") ? uid : [], identityProvider ?? [], bound.map(({ group }) => group.uid)].flat();
  const roots = [...new Set(mayBelong.map(rootOf))];
  const allowed = await Promise.all(roots.map((root) => mayListBindings(session, root)));
  const knowsMappings = externalGroups.length === 0 || mapped !== undefined;
  const knowsBindings = roots.length > 0 && allowed.every(Boolean);
  return { held: [...bound, ...(mapped ?? [])], areComplete: knowsBindings && knowsMappings };
}

/**
 * Calls a method of the contract. Returns its JSON; undefined where the caller may not call it, or the server lacks it.
 */
export async function callUnlessDenied(
  session: Session,
  service: string,
  name: string,
  request: object,
): Promise<JsonObject | undefined> {
  const method = contractRegistry().getService(service)!.method[name] as DescMethodUnary;
  const message = create(method.input, request as MessageInitShape<DescMessage>);
  try {
    const response = await session.transport.unary(method, undefined, undefined, undefined, message);
    return jsonOf(method.output, response.message) as JsonObject;
  } catch (error) {
    const expected = [Code.PermissionDenied, Code.NotFound, Code.Unimplemented];
    if (error instanceof PlatformError && expected.includes(error.code)) return undefined;
    throw error;
  }
}

/** The JSON of the resources with these uids that the caller may list. */
export async function listByUids(
  session: Session,
  [service, method, field]: readonly [service: string, method: string, field: string],
  ids: readonly string[],
): Promise<readonly JsonObject[]> {
  if (ids.length === 0) return [];
  const found = await callUnlessDenied(session, service, method, { uidp: { ids }, pageSize });
  return (found?.[field] ?? []) as readonly JsonObject[];
}

async function boundRoles(session: Session, identity: string): Promise<readonly HeldRole[]> {
  const found = await callUnlessDenied(session, "platform.iam.v2.RoleBindingsService", "listRoleBindings", {
    identity,
    pageSize,
  });
  return ((found?.roleBindings ?? []) as readonly JsonObject[]).map(({ role, group, roleUid, groupUid }) => ({
    role: { uid: String(roleUid ?? ""), ...(role as object) },
    group: { uid: String(groupUid ?? ""), ...(group as object) },
  }));
}

/** The roles by groups of the identity provider; undefined if the caller may list no mapping of the provider. */
async function mappedRoles(
  session: Session,
  { identityProvider, externalGroups }: TokenFacts,
): Promise<readonly HeldRole[] | undefined> {
  if (identityProvider === undefined || externalGroups.length === 0) return [];
  const service = "platform.iam.v2.ExternalGroupRoleMappingsService";
  const request = { uidp: { childrenOf: identityProvider }, pageSize };
  const found = await callUnlessDenied(session, service, "listExternalGroupRoleMappings", request);
  const all = (found?.externalGroupRoleMappings ?? []) as readonly JsonObject[];
  if (all.length === 0) return undefined;
  const own = all.filter(({ externalGroupId }) => externalGroups.includes(String(externalGroupId)));
  const uids = [...new Set(own.map(({ roleUid }) => String(roleUid)))];
  const roles = await listByUids(session, ["platform.iam.v2.RolesService", "listRoles", "roles"], uids);
  return own.map(({ roleUid, scope, externalGroupId }) => ({
    role: namedBy(roles, String(roleUid)),
    group: { uid: String(scope) },
    externalGroup: String(externalGroupId),
  }));
}

/** The resource with a uid, by its name if it is among those that were listed. */
export function namedBy(listed: readonly JsonObject[], uid: string): Named {
  const name = listed.find((resource) => resource.uid === uid)?.name;
  return { uid, ...(typeof name === "string" && name !== "" && { name }) };
}

/** Whether the caller may list the role bindings of an organisation. A list leaves out what it may not. */
async function mayListBindings(session: Session, root: string): Promise<boolean> {
  const request = { scope: root, pageSize: 1 };
  return (await callUnlessDenied(session, "platform.access.v1.AccessService", "listAccess", request)) !== undefined;
}
