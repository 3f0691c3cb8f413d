/** A create that is repeated with its key happens once. */
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { GroupInvitesService } from "../../gen/platform/iam/v2/group_invites_pb.ts";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { removeExpired } from "../../src/app/housekeeping.ts";
import { idempotentAnswers } from "../../src/pipeline/idempotency.ts";
import { openDatabase } from "../../src/store/index.ts";
import { type Json, onEveryServer } from "./live-server.ts";

onEveryServer("idempotency keys", {}, (server) => {
  let count = 0;
  const newKey = () => `key-${count++}`;
  const create = (path: string, body: Json, key: string, as?: string) =>
    server().call("POST", path, body, as, { "idempotency-key": key });
  const total = async (group: string) =>
    (await server().call("GET", `/registry/v2/repos?uidp.descendants_of=${group}`)).body.totalCount;

  test("give the answer of the first call again", async () => {
    const group = await server().group();
    const key = newKey();
    const first = await create(`/iam/v2/groups/${group}`, { name: "a" }, key);
    const second = await create(`/iam/v2/groups/${group}`, { name: "a" }, key);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("etag")).toBe(first.headers.get("etag"));
    expect(second.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    const other = await create(`/iam/v2/groups/${group}`, { name: "a" }, newKey());
    expect(other.body.uid).not.toBe(first.body.uid);
  });

  test("give it whatever has become of the resource", async () => {
    const group = await server().group();
    const key = newKey();
    const first = await create(`/registry/v2/repos/${group}`, { name: "a" }, key);
    await server().call("DELETE", `/registry/v2/repos/${first.body.uid}`);
    expect((await create(`/registry/v2/repos/${group}`, { name: "a" }, key)).body).toEqual(first.body);
    expect(await total(group)).toBe("0");
  });

  test("are refused with another request", async () => {
    const group = await server().group();
    const key = newKey();
    await create(`/registry/v2/repos/${group}`, { name: "a" }, key);
    for (const [path, body] of [
      [`/registry/v2/repos/${group}`, { name: "b" }],
      [`/registry/v2/repos/${group}`, { name: "a", description: "x" }],
      [`/iam/v2/groups/${group}`, { name: "a" }],
    ] as const) {
      const reply = await create(path, body, key);
      expect([reply.status, reply.body.code]).toEqual([400, 3]);
      expect(reply.body.message).toBe("Invalid argument: idempotency-key: has been used for another request");
    }
    expect(await total(group)).toBe("1");
  });

  test("compare what a request says, not how", async () => {
    const group = await server().group();
    const key = newKey();
    const claims = (order: string[]) => Object.fromEntries(order.map((name) => [name, "x"]));
    const body = (order: string[]) => ({
      name: "a",
      claimMatch: { issuer: "https://idp.example", subject: "s", claims: claims(order) },
    });
    const first = await create(`/iam/v2/identities/${group}`, body(["a", "b", "c"]), key);
    const second = await create(`/iam/v2/identities/${group}`, body(["c", "a", "b"]), key);
    expect([first.status, second.body]).toEqual([200, first.body]);
  });

  test("of different callers never meet", async () => {
    const { call, running, group } = server();
    const place = await group();
    const owner = (await call("GET", "/iam/v2/roles?name=owner")).body.roles[0].uid;
    const claimMatch = { issuer: "https://idp.example", subject: "s" };
    const identity = (await call("POST", `/iam/v2/identities/${place}`, { name: "i", claimMatch })).body.uid;
    await call("POST", `/iam/v2/roleBindings/${place}`, { identityUid: identity, roleUid: owner });
    const key = newKey();
    const mine = await create(`/iam/v2/groups/${place}`, { name: "a" }, key);
    const theirs = await create(`/iam/v2/groups/${place}`, { name: "a" }, key, await running.mintToken(identity, 60));
    expect(theirs.status).toBe(200);
    expect(theirs.body.uid).not.toBe(mine.body.uid);
  });

  test("open nothing that is closed by now", async () => {
    const { call, running, group } = server();
    const place = await group();
    const owner = (await call("GET", "/iam/v2/roles?name=owner")).body.roles[0].uid;
    const claimMatch = { issuer: "https://idp.example", subject: "s" };
    const identity = (await call("POST", `/iam/v2/identities/${place}`, { name: "i", claimMatch })).body.uid;
    const binding = await call("POST", `/iam/v2/roleBindings/${place}`, { identityUid: identity, roleUid: owner });
    const token = await running.mintToken(identity, 60);
    const key = newKey();
    expect((await create(`/iam/v2/groups/${place}`, { name: "a" }, key, token)).status).toBe(200);
    await call("DELETE", `/iam/v2/roleBindings/${binding.body.uid}`);
    expect((await create(`/iam/v2/groups/${place}`, { name: "a" }, key, token)).status).toBe(403);
  });

  test("do not remember what failed, nor what was only checked", async () => {
    const group = await server().group();
    const key = newKey();
    expect((await create(`/registry/v2/repos/${group}`, { name: "NO" }, key)).status).toBe(400);
    expect((await create(`/registry/v2/repos/${group}?validate_only=true`, { name: "a" }, key)).status).toBe(200);
    expect(await total(group)).toBe("0");
    expect((await create(`/registry/v2/repos/${group}`, { name: "a" }, key)).status).toBe(200);
    expect(await total(group)).toBe("1");
  });

  test.each(["a b", "é", "x".repeat(256), "a\tb"])("are refused when malformed: %j", async (key) => {
    const group = await server().group();
    const header = Buffer.from(key).toString("latin1");
    const reply = await create(`/registry/v2/repos/${group}`, { name: "a" }, header);
    expect([reply.status, reply.body.code]).toEqual([400, 3]);
    expect(reply.body.details[1].fieldViolations[0].field).toBe("idempotency-key");
  });

  test("mean nothing to other methods", async () => {
    const group = await server().group();
    const key = newKey();
    const update = (description: string) =>
      server().call("PATCH", `/iam/v2/groups/${group}`, { description }, undefined, { "idempotency-key": key });
    expect((await update("a")).body.description).toBe("a");
    expect((await update("b")).body.description).toBe("b");
  });

  test("of calls that come at once let one happen", async () => {
    const group = await server().group();
    const key = newKey();
    const replies = await Promise.all(
      Array.from({ length: 16 }, () => create(`/iam/v2/groups/${group}`, { name: "a" }, key)),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
    expect(new Set(replies.map(({ body }) => body.uid)).size).toBe(1);
    const groups = await server().call("GET", `/iam/v2/groups?uidp.children_of=${group}`);
    expect(groups.body.totalCount).toBe("1");
  });

  test("are the same over every protocol", async () => {
    const { baseUrl, admin, group } = server();
    const place = await group();
    const key = newKey();
    const header = { authorization: `Bearer ${admin}`, "idempotency-key": key };
    const overRest = await create(`/registry/v2/repos/${place}`, { name: "a" }, key);
    for (const transport of [
      createGrpcTransport({ baseUrl }),
      createConnectTransport({ baseUrl, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false }),
    ]) {
      const repos = createClient(ReposService, transport);
      const again = await repos.createRepo({ parent: place, repo: { name: "a" } }, { headers: header });
      expect(again.uid).toBe(overRest.body.uid);
    }
  });

  describe("answers", () => {
    test("with secrets are sealed where they are kept", async () => {
      const { baseUrl, admin, group, call, databaseUrl } = server();
      const place = await group();
      const roleUid = (await call("GET", "/iam/v2/roles?name=viewer")).body.roles[0].uid;
      const invites = createClient(GroupInvitesService, createGrpcTransport({ baseUrl }));
      const headers = { authorization: `Bearer ${admin}`, "idempotency-key": newKey() };
      const request = { parent: place, groupInvite: { roleUid, ttl: { seconds: 3600n } } } as Json;
      const first = await invites.createGroupInvite(request, { headers });
      const second = await invites.createGroupInvite(request, { headers });
      expect(first.code).not.toBe("");
      expect(second).toEqual(first);
      const database = await openDatabase(databaseUrl);
      try {
        const rows = await database.read.list(idempotentAnswers, { orderBy: [], skip: 0, limit: 1000 });
        expect(rows.length).toBeGreaterThan(0);
        for (const { body } of rows) {
          const text = Buffer.from(body).toString("latin1");
          expect(text).not.toContain(first.code);
          expect(Buffer.from(text, "base64url").toString("latin1")).not.toContain(first.code);
        }
      } finally {
        await database.close();
      }
    });

    test("expire after a day", async () => {
      const { databaseUrl, group } = server();
      const place = await group();
      const key = newKey();
      await create(`/registry/v2/repos/${place}`, { name: "a" }, key);
      const database = await openDatabase(databaseUrl);
      try {
        const hour = 3_600_000;
        const kept = await database.read.count(idempotentAnswers, {});
        expect(await removeExpired(database, idempotentAnswers, Date.now() + 23 * hour)).toBe(false);
        expect(await database.read.count(idempotentAnswers, {})).toBe(kept);
        while (await removeExpired(database, idempotentAnswers, Date.now() + 25 * hour));
        expect(await database.read.count(idempotentAnswers, {})).toBe(0);
      } finally {
        await database.close();
      }
      expect((await create(`/registry/v2/repos/${place}`, { name: "a" }, key)).status).toBe(409);
    });
  });
});
