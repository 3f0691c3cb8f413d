/**
 * Role bindings: an identity has a role in a group and everything below it. Responses contain the group, the role, and
 * of the identity what the reader may get; of a user what the identity providers of the organisation report; of other
 * identities only the uid.
 *
 * A user can be bound before the first sign-in, by the uid that `lookupIdentity` returns. So a caller who may not read
 * users cannot find out whether one exists: both can be bound, and both are shown as a uid.
 */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  BatchCreateRoleBindingsResponseSchema,
  ListRoleBindingsRequestSchema,
  type RoleBinding,
  RoleBindingSchema,
  RoleBindingsService,
} from "../../../gen/platform/iam/v2/role_bindings_pb.ts";
import { authorityOf, capabilityNamed, type Grant, holds } from "../../auth/index.ts";
import type { Awaitable } from "../../awaitable.ts";
import { type FieldViolation, failedPrecondition, invalid, invalidWithin, repeatedInBatch } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  equalTo,
  implement,
  insertResource,
  messageOf,
  toResponses,
  transactionOf,
} from "../../resource/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { covers, parentOf, rootOf } from "../../uid.ts";
import { administratorRole, administratorRoleUid } from "./built-in-roles.ts";
import { grantableRole, requireGrantable } from "./grantable-roles.ts";
import { groups } from "./groups.ts";
import { identities } from "./identities.ts";
import { lockInstallation } from "./installation-lock.ts";
import { roles } from "./roles.ts";
import { reportsTo } from "./user-reports.ts";

/** What a binding shows of a user. */
type BoundUser = Pick<ReturnType<typeof boundIdentity>, "name" | "email" | "issuer" | "subject">;

/** The capabilities needed to read an identity. */
const readingIdentities = [capabilityNamed("identity.list")];

export const roleBindings = defineResource({
  schema: RoleBindingSchema,
  list: ListRoleBindingsRequestSchema,
  parent: groups,
  onParentDelete: "cascade",
  invalidatesAuthCache: true,
  columns: {
    identity_uid: { text: (binding) => binding.identityUid },
    role_uid: { text: (binding) => binding.roleUid },
  },
  unique: ["identity_uid", "role_uid"],
  filters: { identity: equalTo("identity_uid"), group: equalTo("parent"), role: equalTo("role_uid") },
  async check({ uid, parent, before, after }, context) {
    const violations: FieldViolation[] = [];
    const role = await grantableRole(databaseOf(context), after.roleUid, parent);
    const isKept = before?.identityUid === after.identityUid;
    if (!isKept && !(await isBindable(after.identityUid, parent, context))) {
      violations.push({ field: "identity_uid", description: "no identity that can be bound in this group" });
    }
    if (role === undefined) {
      violations.push({ field: "role_uid", description: "no role that can be bound in this group" });
    }
    if (violations.length > 0 || role === undefined) throw invalid(violations);
    requireGrantable(role, parent, context);
    if (before?.roleUid === administratorRoleUid) await requireAdministrator(context, uid);
  },
  async checkRemoval(row, context) {
    if (row.columns.role_uid === administratorRoleUid) await requireAdministrator(context);
  },
  async hydrate(bindings, rows, session, { grants }) {
    const reports = await reportsOfUsers(bindings, rows, session, grants);
    const uids = (read: (binding: RoleBinding) => string) => [...new Set(bindings.map(read))];
    const readable = uids((binding) => binding.identityUid).filter((uid) => holds(grants, uid, readingIdentities));
    const [identityRows, roleRows, groupRows] = await Promise.all([
      session.getMany(identities.table, readable),
      session.getMany(
        roles.table,
        uids((binding) => binding.roleUid),
      ),
      session.getMany(groups.table, [...new Set(rows.map((row) => row.parent))]),
    ]);
    for (const [i, binding] of bindings.entries()) {
      if (i % 50 === 0) await session.pause();
      const identity = identityRows.get(binding.identityUid);
      const role = roleRows.get(binding.roleUid);
      const group = groupRows.get(rows[i]?.parent ?? "");
      const filled = create(RoleBindingSchema, {
        identity:
          identity === undefined
            ? { uid: binding.identityUid, ...reports.get(`${rootOf(rows[i]!.parent)} ${binding.identityUid}`) }
            : boundIdentity(identity),
        ...(group && { group: named(messageOf(groups, group)) }),
        ...(role && { role: named(messageOf(roles, role)) }),
      });
      Object.assign(binding, { identity: filled.identity, group: filled.group, role: filled.role });
    }
  },
});

export const roleBindingsService = implement(RoleBindingsService, [roleBindings], {
  async batchCreateRoleBindings(request, context) {
    const violations = request.requests.flatMap((item, i): FieldViolation[] => {
      const roleUid = item.roleBinding?.roleUid || request.roleUid;
      return [
        ...(item.parent === "" || item.parent === request.parent
          ? []
          : [{ field: `requests[${i}].parent`, description: "must be the parent of the batch" }]),
        ...(request.roleUid === "" || roleUid === request.roleUid
          ? []
          : [{ field: `requests[${i}].role_binding.role_uid`, description: "must be the role_uid of the batch" }]),
      ];
    });
    if (violations.length > 0) throw invalid(violations);
    const rows = [];
    const indexes = new Map<string, number>();
    for (const [i, item] of request.requests.entries()) {
      const { identityUid = "", roleUid = "" } = item.roleBinding ?? {};
      const body = create(RoleBindingSchema, { identityUid, roleUid: roleUid || request.roleUid });
      requireDistinct(indexes, body, i);
      try {
        rows.push(await insertResource(roleBindings, request.parent, body, context));
      } catch (error) {
        throw invalidWithin(`requests[${i}].role_binding`, error);
      }
    }
    const created = await toResponses(roleBindings, rows, context);
    return create(BatchCreateRoleBindingsResponseSchema, { roleBindings: created });
  },
});

/**
 * Keeps an administrator: without one, only who can write the database can restore access. Errors: FAILED_PRECONDITION
 * if no identity has the administrator's role any more.
 * @param except a binding that does not count.
 */
async function requireAdministrator(context: Pick<HandlerContext, "values">, except?: string): Promise<void> {
  const session = transactionOf(context);
  await lockInstallation(session); // of two that are deleted at the same time, one stays
  const where = [{ column: "role_uid", equals: administratorRoleUid }];
  for await (const rows of session.pages(roleBindings.table, { where, limit: 200 })) {
    const counted = rows.filter(({ uid }) => uid !== except);
    const found = await session.getMany(identities.table, [...new Set(counted.map(identityUidOf))]);
    if (found.size > 0) return;
  }
  throw failedPrecondition({
    type: "LAST_OWNER",
    subject: "platform",
    description: `no identity would have the role ${administratorRole} any more`,
  });
}

/** Errors: ALREADY_EXISTS for a binding that an earlier request of the batch makes. */
function requireDistinct(indexes: Map<string, number>, { identityUid, roleUid }: RoleBinding, index: number): void {
  const grant = `${identityUid} ${roleUid}`;
  const first = indexes.get(grant);
  if (first !== undefined) {
    const text = `requests[${index}] repeats requests[${first}]: the same identity and role in the same group`;
    throw repeatedInBatch(roleBindings.contract.type, text);
  }
  indexes.set(grant, index);
}

/**
 * What may be shown of users whom the reader may not get: what the reader's own organisation knows of them by its
 * identity providers. Keys are the uids of organisation and user.
 */
async function reportsOfUsers(
  bindings: readonly RoleBinding[],
  rows: readonly Row[],
  session: ReadSession,
  grants: readonly Grant[],
): Promise<ReadonlyMap<string, BoundUser>> {
  const users = new Map<string, Set<string>>();
  for (const [i, { identityUid }] of bindings.entries()) {
    const organisation = rootOf(rows[i]!.parent);
    if (parentOf(identityUid) !== "" || holds(grants, identityUid, readingIdentities)) continue;
    if (holds(grants, organisation, readingIdentities))
      users.set(organisation, (users.get(organisation) ?? new Set()).add(identityUid));
  }
  const reports = await Promise.all(
    [...users].map(async ([organisation, uids]) => {
      const reported = await reportsTo(session, organisation, [...uids]);
      const identityRows = await session.getMany(identities.table, [...reported.keys()]);
      return [...identityRows.values()].map((row): [string, BoundUser] => {
        const { name, email = "" } = reported.get(row.uid)!;
        const { issuer, subject } = boundIdentity(row);
        return [`${organisation} ${row.uid}`, { name, email, issuer, subject }];
      });
    }),
  );
  return new Map(reports.flat());
}

/**
 * The bindings of users of these issuers in an organisation, in portions. Includes bindings of identities that do not
 * exist, whose issuer is unknown.
 */
export async function* bindingsOfUsers(
  session: ReadSession,
  organisation: string,
  issuers: readonly string[],
): AsyncGenerator<readonly Row[]> {
  const within = [{ root: organisation, self: true }];
  for await (const rows of session.pages(roleBindings.table, { within, limit: 1000 })) {
    const ofUsers = rows.filter((row) => parentOf(identityUidOf(row)) === "");
    const users = await session.getMany(identities.table, [...new Set(ofUsers.map(identityUidOf))]);
    yield ofUsers.filter((row) => {
      const user = users.get(identityUidOf(row));
      return user === undefined || issuers.includes(String(user.columns.issuer));
    });
  }
}

/** Whether an identity can be bound in a group. For a user whom the caller may not read, only the uid is considered. */
function isBindable(uid: string, group: string, context: HandlerContext): Awaitable<boolean> {
  if (!covers(parentOf(uid), group)) return false;
  const isHidden = parentOf(uid) === "" && !holds(authorityOf(context).grants, uid, readingIdentities);
  return isHidden || transactionOf(context).hold(identities.table, uid);
}

function identityUidOf({ columns }: Row): string {
  return String(columns.identity_uid);
}

function named({ uid, name, description }: { uid: string; name: string; description: string }) {
  return { uid, name, description };
}

function boundIdentity(row: Parameters<typeof messageOf>[1]) {
  const identity = messageOf(identities, row);
  const { relationship } = identity;
  const issuer =
    relationship.case === "claimMatch" ? (relationship.value.iss.value ?? "") : (relationship.value?.issuer ?? "");
  const subject =
    relationship.case === "claimMatch" ? (relationship.value.sub.value ?? "") : (relationship.value?.subject ?? "");
  return { ...named(identity), issuer, subject, email: identity.email };
}
