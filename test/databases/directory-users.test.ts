/** Users that only a directory made become entries of the directory; others stay. */
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { IdentityProviderSchema } from "../../gen/platform/iam/v2/identity_providers_pb.ts";
import { newUid, userIdentityUid } from "../../src/new-uid.ts";
import { contentOf, newRow } from "../../src/resource/index.ts";
import { type SeparatedUser, separateDirectoryUsers } from "../../src/services/iam/auth/directory-users.ts";
import { signInFirst } from "../../src/services/iam/auth/first-sign-in.ts";
import { identities } from "../../src/services/iam/identities.ts";
import { identityProviders } from "../../src/services/iam/identity-providers.ts";
import { saveEntry } from "../../src/services/iam/provisioning/directory.ts";
import { onEveryDatabase } from "./databases.ts";

onEveryDatabase("users of directories", (database) => {
  it("are identities only if a token has used them, or another provider has signed them in", async () => {
    const issuer = "https://issuer.example.com";
    const db = await database().open();
    const organisation = newUid("");
    const [provider, other] = [newUid(organisation), newUid(organisation)];
    const users = ["unused", "used", "elsewhere"];
    const uidOf = (subject: string) => userIdentityUid(issuer, subject);
    await db.transact(async (session) => {
      for (const uid of [provider, other]) {
        const oidc = { case: "oidc", value: { issuer, clientId: "c" } } as const;
        const message = create(IdentityProviderSchema, { defaultRole: "r", configuration: oidc });
        await session.insert(
          identityProviders.table,
          newRow(uid, organisation, 1, contentOf(identityProviders, message)),
        );
      }
      for (const subject of users) {
        const claims = { iss: issuer, sub: subject, aud: "c", exp: 1 };
        const at = subject === "elsewhere" ? [other, provider] : [provider];
        for (const [i, uid] of at.entries())
          await signInFirst(session, uid, uidOf(subject), claims, 1_000_000 + i * 1000);
        const entry = { userName: subject, externalId: subject };
        await saveEntry(session, provider, "User", undefined, entry, uidOf(subject), 2_000_000);
      }
      await session.setColumns(identities.table, uidOf("used"), { last_seen_us: 3_000_000_000 });
    });
    const separated: SeparatedUser[] = [];
    for (let i = 0; i < 2; i++)
      await separateDirectoryUsers(db, async (_, user) => {
        separated.push(user);
      });
    expect(separated).toEqual([
      { identity: uidOf("unused"), provider, bindings: [expect.stringMatching(organisation)] },
    ]);
    const left = await db.read.getMany(identities.table, users.map(uidOf));
    expect([...left.keys()].sort()).toEqual([uidOf("used"), uidOf("elsewhere")].sort());
    const again = await db.transact((session) =>
      signInFirst(session, provider, uidOf("unused"), { iss: issuer, sub: "unused", aud: "c", exp: 1 }, 4_000_000),
    );
    expect(again).toMatchObject({ isFirst: true, changes: [{ kind: "created" }] });
  });
});
