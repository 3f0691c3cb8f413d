/**
 * Account associations: the accounts that a group's owners have elsewhere, at most one association for a group.
 *
 * An association has its group's uid, and so it is where its group is: a grant at the group covers it, and for hierarchy filters it stands where the
 * group stands. `children_of=G` finds the associations of the groups directly in G, `descendants_of=G` those of all groups below, `ids=G`
 * that of G itself.
 */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type AccountAssociation,
  AccountAssociation_PlatformSchema,
  AccountAssociationSchema,
  AccountAssociationsService,
  type CreateAccountAssociationRequest,
  ListAccountAssociationsRequestSchema,
} from "../../../gen/platform/iam/v2/account_associations_pb.ts";
import { alreadyExists, type FieldViolation, invalid } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  equalTo,
  implement,
  insertResource,
  messageOf,
  present,
  requireResource,
  rewriteResource,
  standardMethods,
} from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { parentOf } from "../../uid.ts";
import { groups } from "./groups.ts";
import { identities } from "./identities.ts";

const providers = ["amazon", "google", "platform", "azure", "github"] as const;

export const accountAssociations = defineResource({
  schema: AccountAssociationSchema,
  list: ListAccountAssociationsRequestSchema,
  facets: { name: { text: (association) => association.name } },
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

export const accountAssociationsService = implement(
  AccountAssociationsService,
  standardMethods(AccountAssociationsService, accountAssociations),
  {
    async createAccountAssociation({ parent, accountAssociation }: CreateAccountAssociationRequest, context) {
      await requireResource(groups, parent, context);
      const uid = parent;
      const row = await insertResource(accountAssociations, parentOf(uid), accountAssociation, context, { uid });
      return present(accountAssociations, row, context);
    },
  },
);

/**
 * Takes an identity that is deleted out of the service bindings that name it: those of its group. With the last one `platform` goes; the association
 * stays, even if it had nothing else.
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

/** Services act as identities that live directly in the group. Only what a change names anew is looked at. */
async function serviceBindingViolations(
  group: string,
  before: AccountAssociation | undefined,
  after: AccountAssociation,
  session: ReadSession,
): Promise<FieldViolation[]> {
  const kept = before?.platform?.serviceBindings ?? {};
  const changed = Object.entries(after.platform?.serviceBindings ?? {}).filter(([name, uid]) => kept[name] !== uid);
  const uids = changed.map(([, uid]) => uid).filter((uid) => parentOf(uid) === group); // of others nothing is read
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
