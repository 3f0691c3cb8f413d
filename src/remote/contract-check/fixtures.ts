/** What resources of each kind are created and changed with. */
import type { JsonObject } from "@bufbuild/protobuf";
import { freshName } from "./server/uids.ts";
import type { Target } from "./target.ts";

/** How a resource of a kind is created in a group. */
export interface Fixture {
  /** The parent; by default the group. */
  parent?(target: Target, group: string): Promise<string>;
  body(target: Target, group: string): Promise<JsonObject> | JsonObject;
  /** Set if a group has one at most, with its own uid. */
  readonly hasUidOfParent?: true;
  /** A field and another value for it; absent for a kind without Update. */
  change?(target: Target, group: string): Promise<JsonObject> | JsonObject;
}

const describe = () => ({ description: freshName() });

/** By kind. Kinds that only organisations have, and those that only imports create, have none. */
export const fixtures: Readonly<Record<string, Fixture>> = {
  Group: { body: () => ({ name: freshName(), description: "first" }), change: describe },
  Identity: { body: identityBody, change: describe },
  Role: { body: roleBody, change: describe },
  RoleBinding: {
    body: async (target, group) => ({
      identityUid: (await target.make("CreateIdentity", { parent: group, identity: identityBody() })).uid!,
      roleUid: await makeRole(target, group),
    }),
    change: async (target, group) => ({ roleUid: await makeRole(target, group) }),
  },
  GroupInvite: {
    body: async (target, group) => ({ roleUid: await makeRole(target, group), ttl: "3600s" }),
    change: () => ({ singleUse: true }),
  },
  AccountAssociation: {
    hasUidOfParent: true,
    parent: async (target, group) =>
      String((await target.make("CreateGroup", { parent: group, group: { name: freshName() } })).uid),
    body: () => ({ name: freshName(), amazon: { account: "123456789012" } }),
    change: describe,
  },
  Repo: { body: () => ({ name: freshName(), description: "first", bundles: ["base"] }), change: describe },
  Tag: {
    parent: async (target, group) =>
      String((await target.make("CreateRepo", { parent: group, repo: { name: freshName() } })).uid),
    body: () => ({ name: freshName(), digest: `sha256:${"0".repeat(64)}` }),
  },
  Analysis: {
    body: () => ({ vulnerabilityId: `TEST-${freshName()}`, state: "STATE_NOT_AFFECTED", note: "first" }),
    change: () => ({ note: freshName() }),
  },
  Subscription: { body: () => ({ sink: `https://receiver.invalid/${freshName()}` }) },
};

function identityBody(): JsonObject {
  return { name: freshName(), claimMatch: { issuer: "https://issuer.example.com", subject: freshName() } };
}

function roleBody(): JsonObject {
  return { name: freshName(), capabilities: ["CAP_REPO_LIST"] };
}

async function makeRole(target: Target, group: string): Promise<string> {
  return String((await target.make("CreateRole", { parent: group, role: roleBody() })).uid);
}
