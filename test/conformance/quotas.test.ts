/** Quotas: how much an organisation can have, whichever method and protocol creates it. */
import { describe, expect, test } from "vitest";
import type { Json } from "./contract.ts";
import { builtInRole, claimMatch, digestOf, freshName, makeGroup, makeIdentity, makeRepo } from "./fixtures.ts";
import { detailOf } from "./outcome.ts";
import { onEveryServer } from "./platform.ts";

const limit = 3;
const kinds = ["groups", "identities", "roleBindings", "subscriptions", "repos", "tags"];

onEveryServer(
  "a server with quotas",
  (platform) => {
    const organisation = () => makeGroup(platform(), "");

    /** Creates until the quota of `kind` refuses, over every protocol. Returns how many were created. */
    async function createUntilRefused(
      root: string,
      kind: string,
      method: string,
      request: () => Json,
    ): Promise<number> {
      for (let count = 0; ; count++) {
        const outcome = await platform().call(method, request());
        if (outcome.ok) continue;
        const status = await platform().refused(method, request(), "RESOURCE_EXHAUSTED");
        expect(status.message).toBe(`Resource exhausted: an organisation can have ${limit} ${kind} (--quotas)`);
        expect(detailOf(status).violations).toMatchObject([{ subject: root }]);
        return count;
      }
    }

    test("tells them in every group, in v1 too", async () => {
      const { uid, resourceLimits } = await organisation();
      const { repos, ...others } = Object.fromEntries(kinds.map((kind) => [kind, limit]));
      expect(resourceLimits).toEqual({ ...others, repositories: repos });
      expect((await platform().ok("GetGroup", { uid })).resourceLimits).toEqual(resourceLimits);
      const { items } = await platform().ok("v1.Groups.List", { id: uid });
      expect(items[0].resourceLimits).toEqual(resourceLimits);
    });

    describe("refuses what an organisation creates beyond its quota", () => {
      test("groups, by v1 and v2", async () => {
        const { uid } = await organisation();
        expect((await platform().call("v1.Groups.Create", { parent: uid, group: { name: freshName() } })).ok).toBe(
          true,
        );
        const request = () => ({ parent: uid, group: { name: freshName() } });
        expect(await createUntilRefused(uid, "groups", "CreateGroup", request)).toBe(limit - 1);
        await platform().refused("v1.Groups.Create", request(), "RESOURCE_EXHAUSTED");
        expect((await platform().ok("ListGroups", { uidp: { descendantsOf: uid } })).totalCount).toBe(String(limit));
      });

      test("identities", async () => {
        const { uid } = await organisation();
        const request = () => ({ parent: uid, identity: { name: freshName(), claimMatch: claimMatch() } });
        expect(await createUntilRefused(uid, "identities", "CreateIdentity", request)).toBe(limit);
      });

      test("role bindings, also many at once", async () => {
        const { uid } = await organisation(); // its creator has one
        const roleUid = await builtInRole(platform(), "viewer");
        const identities = await Promise.all(
          Array.from({ length: limit }, async () => (await makeIdentity(platform(), uid)).uid),
        );
        const batch = (count: number) => ({
          parent: uid,
          roleUid,
          requests: identities.slice(0, count).map((identityUid) => ({ roleBinding: { identityUid } })),
        });
        await platform().refused("BatchCreateRoleBindings", batch(limit), "RESOURCE_EXHAUSTED");
        await platform().ok("BatchCreateRoleBindings", batch(limit - 1));
        const roleBinding = { identityUid: identities.at(-1), roleUid };
        await platform().refused("CreateRoleBinding", { parent: uid, roleBinding }, "RESOURCE_EXHAUSTED");
        const roleBindings = [{ identity: identities.at(-1), role: roleUid }];
        await platform().refused("v1.RoleBindings.CreateBatch", { parent: uid, roleBindings }, "RESOURCE_EXHAUSTED");
      });

      test("repos and tags, below any group", async () => {
        const { uid } = await organisation();
        const { uid: group } = await makeGroup(platform(), uid);
        const request = () => ({ parent: group, repo: { name: freshName() } });
        expect(await createUntilRefused(uid, "repos", "CreateRepo", request)).toBe(limit);
        const { repos } = await platform().ok("ListRepos", { uidp: { childrenOf: group } });
        const tag = () => ({ parent: repos[0].uid, tag: { name: freshName(), digest: digestOf(1) } });
        expect(await createUntilRefused(uid, "tags", "CreateTag", tag)).toBe(limit);
      });

      test("subscriptions", async () => {
        const { uid } = await organisation();
        const request = () => ({ parent: uid, subscription: { sink: `https://receiver.example.com/${freshName()}` } });
        expect(await createUntilRefused(uid, "subscriptions", "CreateSubscription", request)).toBe(limit);
      });
    });

    test("admits again what was deleted, and a repeated call with its key", async () => {
      const { uid } = await organisation();
      const made: Json[] = [];
      for (let i = 0; i < limit - 1; i++) made.push(await makeRepo(platform(), uid));
      const keyed = { headers: { "idempotency-key": freshName("key") } };
      const request = { parent: uid, repo: { name: freshName() } };
      const last = await platform().ok("CreateRepo", request, keyed);
      expect(await platform().ok("CreateRepo", request, keyed)).toEqual(last);
      await platform().refused("CreateRepo", { parent: uid, repo: { name: freshName() } }, "RESOURCE_EXHAUSTED");
      await platform().ok("DeleteRepo", { uid: made[0].uid });
      await makeRepo(platform(), uid);
    });
  },
  { quotas: Object.fromEntries(kinds.map((kind) => [kind, limit])) },
);
