/** The operations that principals carry out, as calls of the contract. */
import { builtInRoleUid } from "../../../src/services/iam/built-in-roles.ts";
import type { Json } from "../contract.ts";
import type { Answer } from "./installation.ts";
import type { Run } from "./run.ts";
import { at, type Invite, type Made, type Side, type Sides, type State, sides, userOf } from "./state.ts";
import type { Operation, Organisation } from "./world.ts";

/** A call before it is made. */
interface Prepared {
  readonly method: string;
  request(side: Side): Json;
  /** Notes what a call has made. */
  done?(answers: Sides<Answer>): void;
}

/** The call of an operation; undefined if there is nothing that it could be about. */
export function prepare(run: Run, org: Organisation, operation: Operation): Prepared | undefined {
  const { state } = run;
  const { folder, pick, issuer, subject } = operation;
  const group = run.group(org, folder);
  const repo = at(
    state.repos.filter((repo) => repo.org === org),
    pick,
  );
  const made = (all: Made[]) => (answers: Sides<Answer>) =>
    void all.push({ org, folder, uid: sides(answers, ({ body }) => body.uid) });
  switch (operation.name) {
    case "createRepo":
      return {
        method: "CreateRepo",
        request: (side) => ({ parent: group[side], repo: { name: `repo-${operation.isKeyed ? pick : run.step}` } }),
        done: made(state.repos),
      };
    case "getRepo":
      return repo && { method: "GetRepo", request: (side) => ({ uid: repo.uid[side] }) };
    case "deleteRepo":
      return (
        repo && {
          method: "DeleteRepo",
          request: (side) => ({ uid: repo.uid[side] }),
          done: () => void state.repos.splice(state.repos.indexOf(repo), 1),
        }
      );
    case "listRepos":
      return { method: "ListRepos", request: (side) => ({ uidp: { descendantsOf: group[side] } }) };
    case "createIdentity": {
      const rule = { kind: "claims", issuer, subject, audience: "", repo: "", repoPattern: "" } as const;
      return {
        method: "CreateIdentity",
        request: (side) => ({ parent: group[side], identity: { name: "robot", ...run.ruleOf(rule) } }),
        done: (answers) =>
          void state.identities.push({ org, folder, rule, uid: sides(answers, ({ body }) => body.uid) }),
      };
    }
    case "listIdentities":
      return { method: "ListIdentities", request: (side) => ({ uidp: { descendantsOf: group[side] } }) };
    case "bindUser":
      return {
        method: "CreateRoleBinding",
        request: (side) => ({
          parent: group[side],
          roleBinding: { identityUid: run.userUid(issuer, subject), roleUid: builtInRoleUid("viewer") },
        }),
        done: () => void state.bindings.push({ org, folder, role: "viewer", to: userOf(issuer, subject) }),
      };
    case "listBindings":
      return { method: "ListRoleBindings", request: (side) => ({ uidp: { descendantsOf: group[side] } }) };
    case "acceptInvite": {
      const invite = pickInvite(state, org, pick);
      return (
        invite && {
          method: "AcceptGroupInvite",
          request: (side) => ({ code: invite.uid[side] }),
          done: ({ x }) => {
            state.hasOtherGrants = true;
            state.bindings.push({ org, folder: invite.folder, role: invite.role, to: run.nameOf(x.body.identityUid) });
          },
        }
      );
    }
    case "acceptTerms":
      return { method: "AcceptTerms", request: (side) => ({ group: group[side], documentIds: ["data-privacy.v1"] }) };
    case "createGroup":
      return {
        method: "CreateGroup",
        request: (side) => ({ parent: group[side], group: { name: `group-${run.step}` } }),
      };
    case "readAudit":
      return { method: "ListAuditRecords", request: (side) => ({ scope: group[side] }) };
    case "explain":
      return {
        method: "Explain",
        request: (side) => ({
          scope: group[side],
          identity: run.userUid(issuer, subject),
          capability: "repo.create",
        }),
      };
    case "listAccess":
      return { method: "ListAccess", request: (side) => ({ scope: group[side] }) };
    case "lookup":
      return { method: "LookupIdentity", request: () => ({ issuer: run.issuers.url(issuer), subject }) };
  }
}

/** One of the invites of an organisation, if there is any. */
export function pickInvite({ invites }: State, org: Organisation, pick: number): Invite | undefined {
  return at(
    invites.filter((invite) => invite.org === org),
    pick,
  );
}
