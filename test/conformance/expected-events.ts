/**
 * Which event each method emits. `docs/events.md` has the types of all, written apart from the annotations that the
 * server reads. Here is what subjects, groups and bodies are where they are not those of a standard method.
 */
import { getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { events } from "../../gen/platform/annotations/annotations_pb.ts";
import { standardMethodOf } from "../../src/annotations.ts";
import { parentOf, rootOf } from "../../src/uid.ts";
import { type Json, methods } from "./contract.ts";

/** A call that was made. */
export interface Call {
  readonly request: Json;
  readonly answer: Json;
}

/** The event of a method. */
export interface ExpectedEvent {
  /** Without `dev.platform.api.` and `.v1`. */
  readonly type: string;
  /** After the base URL. */
  readonly source: string;
  subject(call: Call): string;
  /** The attribute `group`. */
  group(subject: string): string;
  identityProvider?(subject: string): string;
  /** What the body says; the answer unless told. */
  body?(call: Call): Json;
}

const ofAnswer = ({ answer }: Call): string => answer.uid;
const ofRequest = ({ request }: Call): string => request.uid;
const itself = (uid: string) => uid;
const without =
  (...path: readonly string[]) =>
  ({ answer }: Call): Json => {
    const body = structuredClone(answer);
    let place = body;
    for (const name of path.slice(0, -1)) place = place[name];
    delete place[path.at(-1)!];
    return body;
  };

/** The answer, a role binding, without what only readers of its identity may know. */
function withHiddenIdentity({ answer }: Call): Json {
  const identity = { uid: answer.identity.uid, name: "", description: "", subject: "", issuer: "", email: "" };
  return { ...answer, identity };
}

/** The events of a resource's standard methods. */
function standard(
  kind: string,
  prefix: string,
  source: string,
  verbs: readonly ("Create" | "Update" | "Delete")[],
  more: Partial<ExpectedEvent> = {},
): Record<string, ExpectedEvent> {
  const events = verbs.map((verb): [string, ExpectedEvent] => {
    const isDelete = verb === "Delete";
    const type = `${prefix}.${verb.toLowerCase()}d`;
    const base = { type, source, subject: isDelete ? ofRequest : ofAnswer, group: parentOf };
    return [`${verb}${kind}`, { ...base, ...more, ...(isDelete && { body: ({ request }: Call) => request }) }];
  });
  return Object.fromEntries(events);
}

const all = ["Create", "Update", "Delete"] as const;
const ofMapping = { group: rootOf, identityProvider: parentOf };

/** The event of each method that changes the delivery settings of a subscription. */
const settingsUpdated: ExpectedEvent = {
  type: "delivery.settings.updated",
  source: "/delivery/v1/settings",
  subject: ofAnswer,
  group: parentOf,
  body: without("signingSecret"),
};

/** The events of standard methods that nothing is special about. */
function ordinary(): Record<string, ExpectedEvent> {
  const found = [...methods.values()].flatMap((method) => {
    const { verb, kind } = standardMethodOf(method) ?? {};
    if (!hasOption(method, events) || (verb !== "Create" && verb !== "Update" && verb !== "Delete")) return [];
    const { value: route } = getOption(method, http).pattern;
    const source = String(route).replace(/\/?\{.*/, "");
    const prefix = getOption(method, events)
      .type.replace("dev.platform.api.", "")
      .replace(/\.\w+\.v1$/, "");
    return Object.entries(standard(kind!, prefix, source, [verb]));
  });
  return Object.fromEntries(found);
}

/** By method name. */
export const expectedEvents: Readonly<Record<string, ExpectedEvent>> = {
  ...ordinary(),
  ...standard("Group", "iam.group", "/iam/v2/groups", ["Create", "Update"], { group: itself }),
  BatchCreateRoleBindings: {
    type: "iam.rolebindings.created.batch",
    source: "/iam/v2/roleBindings:batchCreate",
    subject: ({ request }) => request.parent,
    group: itself,
  },
  ...standard("IdentityProvider", "iam.identity_providers", "/iam/v2/identityProviders", all, {
    body: without("oidc", "clientSecret"),
  }),
  ...standard(
    "ExternalGroupRoleMapping",
    "iam.external_group_role_mappings",
    "/iam/v2/externalGroupRoleMappings",
    all,
    ofMapping,
  ),
  BatchDeleteExternalGroupRoleMappings: {
    type: "iam.external_group_role_mappings.deleted.batch",
    source: "/iam/v2/externalGroupRoleMappings:batchDelete",
    subject: ({ request }) => request.parent,
    group: rootOf,
    identityProvider: itself,
  },
  ...standard("AccountAssociation", "iam.account_associations", "/iam/v2/accountAssociations", ["Create", "Update"], {
    group: itself,
  }),
  DeleteAccountAssociation: {
    type: "iam.account_associations.deleted",
    source: "/iam/v2/accountAssociations",
    subject: ofRequest,
    group: itself,
    body: () => null,
  },
  ...standard("GroupInvite", "iam.group_invite", "/iam/v2/groupInvites", all, {
    body: ({ answer }) => ({ uid: answer.uid, expirationTime: answer.expirationTime }),
  }),
  AcceptGroupInvite: {
    type: "iam.rolebindings.created",
    source: "/iam/v2/groupInvites:accept",
    subject: ofAnswer,
    group: parentOf,
    body: withHiddenIdentity, // the administrator's, who is of no group
  },
  AcceptTerms: {
    type: "iam.terms.accepted",
    source: "/iam/v2/terms",
    subject: ({ request }) => request.group,
    group: itself,
  },
  ...standard("Subscription", "events.subscription", "/events/v2/subscriptions", ["Create"], {
    body: without("signingSecret"),
  }),
  UpdateDeliverySettings: settingsUpdated,
  PauseSubscription: settingsUpdated,
  ResumeSubscription: settingsUpdated,
  RotateSigningSecret: settingsUpdated,
  ...standard("Tag", "platform.registry.tag", "/registry/v2/tags", ["Create", "Delete"], { group: rootOf }),
};
