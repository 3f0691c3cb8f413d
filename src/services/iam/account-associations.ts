/**
 * Account associations: the accounts that the owners of a group have at other providers. A group has at most one
 * association.
 *
 * An association has the uid of its group. So a grant at the group covers it, and for hierarchy filters it is where the
 * group is. `children_of=G` finds the associations of the groups directly in G, `descendants_of=G` those of all groups
 * below G, `ids=G` that of G itself.
 */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type AccountAssociation,
  AccountAssociation_PlatformSchema,
  AccountAssociationSchema,
  AccountAssociationsService,
  ListAccountAssociationsRequestSchema,
} from "../../../gen/platform/iam/v2/account_associations_pb.ts";
import { alreadyExists, type FieldViolation, invalid } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  equalTo,
  holdResource,
  implement,
  insertResource,
  messageOf,
  rewriteResource,
  toResponse,
} from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { parentOf } from "../../uid.ts";
import { groups } from "./groups.ts";
import { identities } from "./identities.ts";

const providers = ["amazon", "google", "platform", "azure", "github"] as const;

export const accountAssociations = defineResource({
  schema: AccountAssociationSchema,
  list: ListAccountAssociationsRequestSchema,
  partOf: groups,
  quota: "accountAssociations",
  columns: { name: { text: (association) => association.name } },
  filters: { name: equalTo("name") },
  async check({ uid, before, after }, context) {
    const hasNone = (association: AccountAssociation) => providers.every((name) => association[name] === undefined);
    if (hasNone(after) && !(before !== undefined && hasNone(before)))
      throw invalid({ field: "", description: `at least one of ${providers.join(", ")} is needed` });
    const session = databaseOf(context);
    const violations = await serviceBindingViolations(uid, before, after, session);
    if (violations.length > 0) throw invalid(violations);
    if (before === undefined && (await session.exists(accountAssociations.table, { uids: [uid] })))
      throw alreadyExists({ type: accountAssociations.contract.type, uid }, `uid ${JSON.stringify(uid)}`);
  },
});

export const accountAssociationsService = implement(AccountAssociationsService, [accountAssociations], {
  async createAccountAssociation({ parent, accountAssociation }, context) {
    await holdResource(groups, parent, context);
    const uid = parent;
    const row = await insertResource(accountAssociations, parentOf(uid), accountAssociation, context, { uid });
    return toResponse(accountAssociations, row, context);
  },
});

/**
 * Removes a deleted identity from the service bindings of its group. If none is left, `platform` is removed too; the
 * association stays even if it is then empty.
 */
export async function removeServiceBindings(identity: string, context: HandlerContext): Promise<void> {
  const row = await databaseOf(context).get(accountAssociations.table, parentOf(identity));
  const association = row && messageOf(accountAssociations, row);
  const bindings = Object.entries(association?.platform?.serviceBindings ?? {});
  const kept = bindings.filter(([, uid]) => uid !== identity);
  if (row === undefined || kept.length === bindings.length) return;
  const platform =
    kept.length === 0
      ? undefined
      : create(AccountAssociation_PlatformSchema, { serviceBindings: Object.fromEntries(kept) });
  await rewriteResource(accountAssociations, row, Object.assign(association!, { platform }), context);
}

/** Services act as identities directly in the group. Only bindings that a change adds are checked. */
async function serviceBindingViolations(
  group: string,
  before: AccountAssociation | undefined,
  after: AccountAssociation,
  session: ReadSession,
): Promise<FieldViolation[]> {
  const kept = before?.platform?.serviceBindings ?? {};
  const changed = Object.entries(after.platform?.serviceBindings ?? {}).filter(([name, uid]) => kept[name] !== uid);
  const uids = changed.map(([, uid]) => uid).filter((uid) => parentOf(uid) === group);
  const rows = await session.getMany(identities.table, uids);
  return changed.flatMap(([name, uid]) =>
    rows.has(uid)
      ? []
      : [
          {
            field: `platform.service_bindings[${JSON.stringify(name)}]`,
            description: "must be the uid of an identity directly in the group",
          },
        ],
  );
}
