/** Users of an OpenID provider that nobody here wrote. */
import { Code } from "@connectrpc/connect";
import { afterAll, describe, expect, test } from "vitest";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { userIdentityUid } from "../../src/new-uid.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { startIndependentIssuer } from "../auth/independent-issuer.ts";
import { onEveryServer } from "./iam-server.ts";

const issuer = await startIndependentIssuer("web", "other");
afterAll(() => issuer?.close());

if (issuer === undefined) {
  const why = "the package oidc-provider is not installed";
  console.warn(`users of an independent issuer are not tested: ${why}`);
  describe.skip(`users of an independent issuer (skipped: ${why})`, () => test("nothing", () => {}));
} else
  onEveryServer(
    "users of an independent issuer",
    (server) => {
      test("sign in, have the roles of their groups, and are out when the provider is gone", async () => {
        const s = server();
        const oidc = { issuer: issuer.url, clientId: "web", clientSecret: "s" };
        const body = { name: "login", defaultRole: builtInRoleUid("viewer"), oidc };
        const provider = await s.ok(`POST /iam/v2/identityProviders/${s.root}`, body);
        const mapping = { externalGroupId: "ops", roleUid: builtInRoleUid("editor") };
        await s.ok(`POST /iam/v2/externalGroupRoleMappings/${provider.uid}`, mapping);
        const [jane, john] = [
          await issuer.idToken("web", "jane", { email: "jane@x.example", email_verified: true, groups: ["ops"] }),
          await issuer.idToken("web", "john", { name: "John" }),
        ];
        const makeRepo = async (token: string, name: string) =>
          (await s.rest(token, `POST /registry/v2/repos/${s.root}`, { name })).status;
        expect([await makeRepo(jane, "a"), await makeRepo(john, "b")]).toEqual([200, 403]);
        expect((await s.rest(john, "GET /iam/v2/groups")).body.totalCount).toBe("1");
        expect(await s.ok(`GET /iam/v2/identities/${userIdentityUid(issuer.url, "jane")}`)).toMatchObject({
          email: "jane@x.example",
        });
        expect(await makeRepo(await issuer.idToken("other", "jane"), "c")).toBe(401);
        await s.ok(`DELETE /iam/v2/identityProviders/${provider.uid}`);
        expect([await makeRepo(jane, "d"), await makeRepo(john, "d")]).toEqual([401, 401]);
      });

      test("exchange a CI job's token, use the platform's over REST and gRPC, and are out when the binding is gone", async () => {
        const s = server();
        const claimMatch = { issuer: issuer.url, subjectPattern: "repo:acme/app:ref:.*", audience: "web" };
        const identity = await s.ok(`POST /iam/v2/identities/${s.root}`, { name: "ci", claimMatch });
        const editor = { identityUid: identity.uid, roleUid: builtInRoleUid("editor") };
        const binding = await s.ok(`POST /iam/v2/roleBindings/${s.root}`, editor);
        const ci = await issuer.idToken("web", "repo:acme/app:ref:main");
        const fork = await issuer.idToken("web", "repo:mallory/app:ref:main");
        expect((await s.rest(fork, "POST /sts/exchange", {})).status).toBe(401);
        const { status, body } = await s.rest(ci, "POST /sts/exchange", { identity: identity.uid });
        expect(status).toBe(200);
        const { token } = body;

        const repo = await s.rest(token, `POST /registry/v2/repos/${s.root}`, { name: "app" });
        expect(repo.status).toBe(200);
        const repos = s.grpc(ReposService, token);
        expect((await repos.getRepo({ uid: repo.body.uid })).name).toBe("app");

        await s.ok(`DELETE /iam/v2/roleBindings/${binding.uid}`);
        expect((await s.rest(token, `GET /registry/v2/repos/${repo.body.uid}`)).status).toBe(403);
        await expect(repos.getRepo({ uid: repo.body.uid })).rejects.toMatchObject({ code: Code.PermissionDenied });
      });
    },
    { allowLoopbackIssuers: "true" },
  );
