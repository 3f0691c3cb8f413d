/** Account associations of v1, which are named by their group. */
import { create } from "@bufbuild/protobuf";
import * as v1 from "../../../gen/platform/iam/v1/account_associations_pb.ts";
import * as v2 from "../../../gen/platform/iam/v2/account_associations_pb.ts";
import { failedPrecondition } from "../../errors.ts";
import { asUidpFilter, serviceOfV1 } from "./common.ts";

const within = (name: string) => `account_association.${name}`;

export const accountAssociationsOfV1 = serviceOfV1(v1.GroupAccountAssociations, {
  messages: [
    { older: v1.AccountAssociationsSchema, newer: v2.AccountAssociationSchema, fields: { group: "uid" } },
    {
      older: v1.AccountAssociationsSchema,
      newer: v2.CreateAccountAssociationRequestSchema,
      fields: {
        group: "parent",
        ...Object.fromEntries(
          v1.AccountAssociationsSchema.fields.flatMap(({ name }) => (name === "group" ? [] : [[name, within(name)]])),
        ),
      },
    },
    {
      older: v1.AccountAssociationsFilterSchema,
      newer: v2.ListAccountAssociationsRequestSchema,
      fields: { group: asUidpFilter("ids") },
    },
    {
      older: v1.DeleteAccountAssociationsRequestSchema,
      newer: v2.DeleteAccountAssociationRequestSchema,
      fields: { group: "uid" },
    },
  ],
  methods: ({ call, replace, list, custom, invoke }) => {
    const { createAccountAssociation, updateAccountAssociation, deleteAccountAssociation } =
      v2.AccountAssociationsService.method;
    const { listAccountAssociations, getAccountAssociation } = v2.AccountAssociationsService.method;
    return {
      create: (method) => call(method, createAccountAssociation),
      update: (method) => replace(method, updateAccountAssociation),
      list: (method) => list(method, listAccountAssociations, { get: getAccountAssociation, idField: "group" }),
      delete: (method) => call(method, deleteAccountAssociation),
      check: (method) =>
        custom(method, undefined, async ({ group, accountType }: v1.AccountAssociationsCheckRequest, context) => {
          const request = create(v2.GetAccountAssociationRequestSchema, { uid: group });
          const association = (await invoke(getAccountAssociation, request, context)) as v2.AccountAssociation;
          const [name, account] = accountOf(association, accountType);
          if (account !== undefined) throw cannotCheck(group, name);
          return create(v1.AccountAssociationsStatusSchema, {
            ready: v1.AccountAssociationsStatus_State.NotReady,
            reason: "NoAccount",
            message: `the association has no ${name} account`,
          });
        }),
    };
  },
});

function accountOf(association: v2.AccountAssociation, type: v1.AccountAssociationsCheckRequest_AccountType) {
  const types = v1.AccountAssociationsCheckRequest_AccountType;
  const names = { [types.GOOGLE]: "google", [types.AMAZON]: "amazon", [types.AZURE]: "azure" } as const;
  const name = names[type as keyof typeof names];
  return [name, association[name]] as const;
}

function cannotCheck(group: string, name: string) {
  return failedPrecondition({
    type: "NOT_SERVED_HERE",
    subject: group,
    description: `this server does not sign in to ${name}, so it cannot tell whether the account is ready`,
  });
}
