/** Every table has something that keeps it from growing without end, and what has ended is removed. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { beforeEach, describe, expect, test } from "vitest";
import { readApi } from "../../src/app/api.ts";
import { removeExpired } from "../../src/app/housekeeping.ts";
import { tableBounds } from "../../src/app/start/bounds.ts";
import { readConfig } from "../../src/config/index.ts";
import { newUid, userIdentityUid } from "../../src/new-uid.ts";
import { defaultQuotas } from "../../src/quotas.ts";
import { contentOf, newRow, type Resource, type RowChange } from "../../src/resource/index.ts";
import { vexFiles, vexStatements } from "../../src/services/documents/vex-documents.ts";
import { groupInvites } from "../../src/services/iam/group-invites.ts";
import { identities } from "../../src/services/iam/identities.ts";
import { identityProviders } from "../../src/services/iam/identity-providers.ts";
import { groupsTable, membersTable, usersTable } from "../../src/services/iam/provisioning/directory.ts";
import { provisioningTable } from "../../src/services/iam/provisioning/settings.ts";
import { signIns, signInUid } from "../../src/services/iam/provisioning/sign-ins.ts";
import { roleBindings } from "../../src/services/iam/role-bindings.ts";
import { sbomFiles } from "../../src/services/registry/sbom-documents.ts";
import type { Database, TableSpec } from "../../src/store/index.ts";
import { countsBytes } from "../../src/store/logs/counters.ts";
import { onEveryDatabase } from "./databases.ts";

const nowMs = Date.UTC(2026, 10, 5, 12);
const day = 86_400_000;
const issuer = "https://login.example.com";
const resources = readApi(readConfig({ flags: {}, env: {}, warn: () => {} })).services.flatMap(
  (service) => service.resources,
);

onEveryDatabase("bounds", (database) => {
  let db: Database;
  let events: string[];
  beforeEach(async () => {
    db = await database().open();
    events = [];
  });

  const boundsOf = () =>
    tableBounds({
      database: db,
      resources,
      now: () => nowMs,
      auditRetentionDays: 400,
      eventRetentionDays: 30,
      async record(_session, changes: readonly RowChange[]) {
        for (const { kind, resource, row } of changes) events.push(`${kind} ${resource.contract.kind} ${row.uid}`);
      },
    });
  /** Runs all of the housekeeping until it has nothing more to do. */
  async function clean() {
    for (const bound of boundsOf()) {
      if ("expiring" in bound) while (await removeExpired(db, bound.expiring.table, nowMs, bound.expiring));
      if ("end" in bound) while (await bound.end());
    }
  }
  const insert = (
    table: TableSpec,
    uid: string,
    columns: Record<string, string | number> = {},
    parent = uid.slice(0, uid.lastIndexOf("/")),
  ) => {
    const none = Object.fromEntries(Object.keys(table.columns).map((column) => [column, null]));
    const content = { body: Buffer.from("{}"), columns: { ...none, ...columns } };
    return db.transact((session) => session.insert(table, newRow(uid, parent, nowMs, content)));
  };
  const store = <R extends Resource>(
    resource: R,
    uid: string,
    message: MessageInitShape<R["declaration"]["schema"]>,
  ) => {
    const content = contentOf(resource, create(resource.declaration.schema, message));
    const parent = uid.slice(0, Math.max(0, uid.lastIndexOf("/")));
    return db.transact((session) => session.insert(resource.table, newRow(uid, parent, nowMs, content)));
  };
  const uidsOf = async ({ table }: { table: TableSpec }) =>
    (await db.read.list(table, { limit: 5000 })).map(({ uid }) => uid);

  test("are known for every table of the database", async () => {
    const tables = (
      await db.exportSnapshot(
        async () => {},
        () => {},
      )
    ).map(({ table }) => table);
    expect(tables.length).toBeGreaterThan(30);
    const bounded = new Set(boundsOf().map(({ table }) => table));
    expect(tables.filter((name) => !bounded.has(name))).toEqual([]);
    expect([...bounded].filter((name) => !tables.includes(name))).toEqual([]);
  });

  test("name quotas that have a default, each once, and bytes that are counted", () => {
    const named = boundsOf().flatMap((bound) => ("quota" in bound ? [bound.quota] : []));
    expect(named.sort()).toEqual(Object.keys(defaultQuotas).sort());
    const files = [sbomFiles, vexFiles, vexStatements];
    const tables = [...resources.map(({ table }) => table), usersTable, groupsTable, ...files];
    for (const { name, byteQuota } of tables)
      expect([name, countsBytes(name)]).toEqual([name, byteQuota !== undefined]);
  });

  test("remove invites a week after they expire, with their events, whether or not their column is filled", async () => {
    const group = newUid("");
    const inviteOf = async (endMs: number, isFilled: boolean) => {
      const uid = newUid(group);
      await store(groupInvites, uid, { keyId: uid, expirationTime: timestampFromMs(endMs - 7 * day) });
      if (!isFilled) await db.transact((session) => session.setColumns(groupInvites.table, uid, { expire_us: 0 }));
      return uid;
    };
    const ended = [await inviteOf(nowMs, true), await inviteOf(nowMs - 1, false)];
    const left = [await inviteOf(nowMs + 1, true), await inviteOf(nowMs + 1, false)];
    for (let i = 0; i < 250; i++) ended.push(await inviteOf(nowMs - i, i % 2 === 0));
    await clean();
    expect(await uidsOf(groupInvites)).toEqual(left.sort());
    expect(events.sort()).toEqual(ended.map((uid) => `deleted GroupInvite ${uid}`).sort());
    const { columns } = (await db.read.get(groupInvites.table, left[1]!))!;
    expect(columns.expire_us).toBe((nowMs + 1) * 1000);
  });

  describe("remove what belongs to nothing", () => {
    const provider = newUid(newUid(""));
    const gone = newUid(newUid(""));

    test("directories and sign-ins of providers, in any number", async () => {
      await store(identityProviders, provider, { name: "login", configuration: { case: "oidc", value: { issuer } } });
      const kept: Record<string, string[]> = {};
      for (const [owner, count] of [
        [provider, 120],
        [gone, 230],
      ] as const) {
        const isKept = owner === provider;
        const keep = (table: string, uid: string) => {
          if (isKept) kept[table] = [...(kept[table] ?? []), uid];
        };
        const group = newUid(owner);
        await insert(groupsTable, group);
        keep("scim_groups", group);
        await insert(provisioningTable, owner);
        keep("scim_settings", owner);
        for (let i = 0; i < count; i++) {
          const user = newUid(owner);
          await insert(usersTable, user, { user_name: `user${i}` });
          keep("scim_users", user);
          const member = `${group}/${user.slice(-16)}`;
          await insert(membersTable, member, { user_uid: user });
          keep("scim_members", member);
          const signIn = signInUid(owner, userIdentityUid(issuer, `user${i}`));
          await insert(signIns, signIn, {}, owner);
          keep("identity_provider_sign_ins", signIn);
        }
      }
      const lone = `${kept.scim_groups![0]}/${"0".repeat(16)}`;
      await insert(membersTable, lone, { user_uid: `${provider}/${"0".repeat(16)}` });
      await clean();
      for (const table of [usersTable, groupsTable, membersTable, provisioningTable, signIns])
        expect([table.name, await uidsOf({ table })]).toEqual([table.name, kept[table.name]!.sort()]);
      expect(await db.findCounterFaults()).toEqual([]);
    });

    test("role bindings of identities, with their events", async () => {
      const group = newUid("");
      const identity = newUid(group);
      await store(identities, identity, { name: "a" });
      const [left, lost] = [newUid(group), newUid(group)];
      await store(roleBindings, left, { identityUid: identity, roleUid: newUid("") });
      const early = newUid(group); // of a user who has not signed in
      await store(roleBindings, early, { identityUid: newUid(""), roleUid: newUid("") });
      await store(roleBindings, lost, { identityUid: newUid(group), roleUid: newUid("") });
      await clean();
      expect((await uidsOf(roleBindings)).sort()).toEqual([left, early].sort());
      expect(events).toEqual([`deleted RoleBinding ${lost}`]);
    });
  });

  test("remove users whom no provider and no binding knows, after they were away", async () => {
    const rule = (iss: string, sub: string) => ({
      case: "claimMatch" as const,
      value: { iss: { case: "issuer" as const, value: iss }, sub: { case: "subject" as const, value: sub } },
    });
    const userOf = async (iss: string, sub: string, seenMs = nowMs - 31 * day, uid = userIdentityUid(iss, sub)) => {
      await store(identities, uid, { name: sub, relationship: rule(iss, sub), lastSeenTime: timestampFromMs(seenMs) });
      return uid;
    };
    const elsewhere = "https://gone.example.com";
    const group = newUid("");
    await store(identityProviders, newUid(group), {
      name: "login",
      configuration: { case: "oidc", value: { issuer } },
    });
    const left = [
      await userOf(issuer, "of a provider"),
      await userOf(elsewhere, "seen lately", nowMs - 29 * day),
      await userOf(elsewhere, "made by an administrator", 0, newUid("")),
      await userOf(elsewhere, "bound"),
    ];
    await store(roleBindings, newUid(group), { identityUid: left[3]!, roleUid: newUid("") });
    for (let i = 0; i < 120; i++) await userOf(elsewhere, `unused ${i}`);
    await clean();
    expect(await uidsOf(identities)).toEqual(left.sort());
    expect(events).toEqual([]);
  });
});
