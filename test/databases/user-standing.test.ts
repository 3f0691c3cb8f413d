/** The standing of a user at a provider while the user signs in there. */
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { IdentityProviderSchema } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import { newUid, userIdentityUid } from "../../src/new-uid.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { signInFirst } from "../../src/services/iam/auth/first-sign-in.ts";
import { identityProviders } from "../../src/services/iam/identity-providers.ts";
import { standingsOf } from "../../src/services/iam/user-reports.ts";
import type { ReadSession } from "../../src/store/index.ts";
import { onEveryDatabase } from "./databases.ts";

onEveryDatabase("the standing of a user", (database) => {
  it("is never that of a deleted user while the user signs in for the first time", async () => {
    const issuer = "https://issuer.example.com";
    const db = await database().open();
    const organisation = newUid("");
    const provider = newUid(organisation);
    const user = userIdentityUid(issuer, "jane");
    const signIn = () =>
      db.transact((session) =>
        signInFirst(session, provider, user, { iss: issuer, sub: "jane", aud: "c", exp: 1 }, 2000),
      );
    await db.transact((session) => {
      const oidc = { case: "oidc", value: { issuer, clientId: "c" } } as const;
      const message = create(IdentityProviderSchema, { defaultRole: "r", configuration: oidc });
      return session.insert(
        identityProviders.table,
        newRow(provider, organisation, 1, contentOf(identityProviders, message)),
      );
    });
    expect([...(await standingsOf(db.read, [provider], user)).values()]).toEqual(["new"]);
    const signingInBeforeSignInsAreRead: ReadSession = {
      ...db.read,
      get: (table, uid) => db.read.get(table, uid),
      getMany: async (table, uids) => {
        await signIn();
        return db.read.getMany(table, uids);
      },
    };
    const standings = await standingsOf(signingInBeforeSignInsAreRead, [provider], user);
    expect([...standings.values()]).toEqual(["known"]);
  });
});
