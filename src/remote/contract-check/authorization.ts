/** What an identity with a single role in a single group sees and may do. */
import type { JsonObject } from "@bufbuild/protobuf";
import { createSecondIdentity } from "./second-identity.ts";
import { freshName, freshUid } from "./server/uids.ts";
import type { Target } from "./target.ts";

const capabilities = ["CAP_REPO_LIST", "CAP_IAM_GROUPS_LIST"];

/** Checks what somebody sees who may list the groups and repos of one of two groups. */
export async function checkAuthorization(target: Target, parent: string): Promise<void> {
  const { results } = target;
  const [own, foreign] = [await makeBranch(target, parent), await makeBranch(target, parent)];
  const { uid: identityUid, token } = await createSecondIdentity(target, parent);
  const seen = async (method: string, field: string) => {
    const page = await target.answer("authorization/scope", method, {}, token);
    return ((page?.[field] ?? []) as JsonObject[]).map(({ uid }) => uid).sort();
  };
  results.compare("authorization/scope", "ListRepos", await seen("ListRepos", "repos"), []);
  const role = { name: freshName(), capabilities };
  const { uid: roleUid } = await target.make("CreateRole", { parent: own.group, role });
  const roleBinding = { identityUid, roleUid: roleUid! };
  const binding = await target.make("CreateRoleBinding", { parent: own.group, roleBinding });
  results.compare("authorization/scope", "ListRepos", await seen("ListRepos", "repos"), [own.repo]);
  results.compare("authorization/scope", "ListGroups", await seen("ListGroups", "groups"), [own.group]);

  const texts: unknown[] = [];
  for (const uid of [foreign.repo, freshUid(foreign.group)]) {
    const status = await target.refused("authorization/get", "GetRepo", { uid }, "PERMISSION_DENIED", token);
    texts.push(status?.message.replaceAll(uid, "UID"));
  }
  results.compare("authorization/get", "GetRepo", texts[1], texts[0]);
  const repo = { name: freshName() };
  const calls: readonly [string, JsonObject][] = [
    ["CreateRepo", { parent: own.group, repo }],
    ["UpdateRepo", { repo: { uid: own.repo, description: "theirs" } }],
    ["DeleteRepo", { uid: own.repo }],
    ["CreateRoleBinding", { parent: own.group, roleBinding }],
  ];
  for (const [method, request] of calls)
    await target.refused("authorization/capability", method, request, "PERMISSION_DENIED", token);

  await target.make("DeleteRoleBinding", { uid: binding.uid! });
  results.compare("authorization/revoked", "ListRepos", await seen("ListRepos", "repos"), []);
}

/** A group with a repo. */
async function makeBranch(target: Target, parent: string): Promise<{ readonly group: string; readonly repo: string }> {
  const group = String((await target.make("CreateGroup", { parent, group: { name: freshName() } })).uid);
  const repo = String((await target.make("CreateRepo", { parent: group, repo: { name: freshName() } })).uid);
  return { group, repo };
}
