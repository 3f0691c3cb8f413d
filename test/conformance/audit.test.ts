/** Every mutation and every denied call is in the audit log, and no secret is. */

import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { GroupsService } from "../../gen/platform/iam/v2/groups_pb.ts";
import { type AuditRecord, readAudit } from "../../src/audit/index.ts";
import { runCommand } from "../../src/cli/index.ts";
import { userIdentityUid } from "../../src/new-uid.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";
import { sign, startIssuer, testKey } from "../auth/local-issuer.ts";
import { type Json, onEveryServer } from "./live-server.ts";

onEveryServer("audit", {}, (server) => {
  let database: Database;
  beforeEach(async () => {
    database = await openDatabase(server().databaseUrl);
  });
  afterEach(() => database.close());

  let count = 0;
  const tagged = () => ({ "x-request-id": `request-${count++}` });
  async function allRecords() {
    const records = [];
    for await (const record of readAudit(database.read, {})) records.push(record);
    return records;
  }
  const recordsOf = async (headers: Record<string, string>) =>
    (await allRecords()).filter(({ requestId }) => requestId === headers["x-request-id"]);
  /** What is recorded outside of transactions comes within a second: so all of a test at once. */
  async function expectRecords(...expected: [headers: Record<string, string>, record: Partial<AuditRecord>][]) {
    for (const [headers, record] of expected) {
      await expect.poll(() => recordsOf(headers)).toHaveLength(1);
      expect((await recordsOf(headers))[0]).toMatchObject({ count: 1, ...record });
    }
  }
  /** An identity in a group of its own that may do nothing. */
  async function stranger() {
    const place = await server().group();
    const claimMatch = { issuer: "https://idp.example", subject: `s${count++}` };
    const body = { name: "stranger", claimMatch };
    const uid = (await server().call("POST", `/iam/v2/identities/${place}`, body)).body.uid;
    return { uid, place, token: await server().running.mintToken(uid, 600) };
  }

  test("records every change with its transaction", async () => {
    const { call, root, administrator, baseUrl } = server();
    const made = tagged();
    const { uid } = (await call("POST", `/iam/v2/groups/${root}`, { name: "a" }, undefined, made)).body;
    const common = { caller: administrator, issuer: baseUrl, code: "OK" };
    const service = "platform.iam.v2.GroupsService";
    expect(await recordsOf(made)).toMatchObject([
      { ...common, method: `${service}/CreateGroup`, scope: root, resource: uid },
    ]);
    const changed = tagged();
    await call("PATCH", `/iam/v2/groups/${uid}`, { description: "secret text" }, undefined, changed);
    expect(await recordsOf(changed)).toMatchObject([
      { ...common, method: `${service}/UpdateGroup`, scope: uid, resource: uid },
    ]);
    const deleted = tagged();
    await call("DELETE", `/iam/v2/groups/${uid}`, undefined, undefined, deleted);
    expect(await recordsOf(deleted)).toMatchObject([
      { ...common, method: `${service}/DeleteGroup`, scope: uid, resource: uid },
    ]);
  });

  test("records the request id that the answer says, where the client has given none", async () => {
    const { root, admin, baseUrl } = server();
    const create = async (path: string, body: Json) => {
      const headers = { authorization: `Bearer ${admin}`, "content-type": "application/json" };
      const answer = await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
      expect(answer.status).toBe(200);
      return { "x-request-id": String(answer.headers.get("x-request-id")) };
    };
    const byRest = await create(`/iam/v2/groups/${root}`, { name: "a" });
    const byConnect = await create("/platform.iam.v2.GroupsService/CreateGroup", {
      parent: root,
      group: { name: "b" },
    });
    await expectRecords([byRest, { code: "OK" }], [byConnect, { code: "OK" }]);
  });

  test("records changes that failed", async () => {
    const { call, root, administrator } = server();
    const bad = tagged();
    await call("POST", `/iam/v2/groups/${root}`, { name: "NO" }, undefined, bad);
    const missing = tagged();
    const uid = `${root}/${"0".repeat(16)}`;
    await call("DELETE", `/iam/v2/groups/${uid}`, undefined, undefined, missing);
    await expectRecords(
      [bad, { caller: administrator, code: "INVALID_ARGUMENT", scope: root, resource: "" }],
      [missing, { code: "NOT_FOUND", scope: uid }],
    );
  });

  test("records denied calls of known callers, reads among them, with where they came from", async () => {
    const { call, root, baseUrl } = server();
    const { uid, token } = await stranger();
    const read = tagged();
    const userAgent = `agent \u0085${"x".repeat(200)}`;
    await call("GET", `/iam/v2/groups/${root}`, undefined, token, { ...read, "user-agent": userAgent });
    const method = "platform.iam.v2.GroupsService/GetGroup";
    const origin = { address: "127.0.0.1", userAgent: `agent ${"x".repeat(122)}` };
    await expectRecords([
      read,
      { caller: uid, issuer: baseUrl, method, scope: root, code: "PERMISSION_DENIED", ...origin },
    ]);
  });

  test("counts denied calls without a known caller, and records none", async () => {
    const { another, root } = server();
    const counted = async () => (await allRecords()).filter(({ caller }) => caller === "");
    const before = (await counted()).length;
    const tag = tagged();
    const victim = await another();
    const attempt = async (method: string, path: string, body?: Json, headers: Record<string, string> = {}) => {
      const answer = await fetch(victim.baseUrl + path, {
        method,
        headers: { ...tag, ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      await answer.arrayBuffer();
    };
    const bad = { authorization: "Bearer abc" };
    for (let i = 0; i < 50; i++) {
      await attempt("GET", `/iam/v2/groups/${root}`);
      await attempt("GET", "/iam/v2/groups", undefined, bad);
      await attempt("DELETE", `/iam/v2/groups/${"x".repeat(2000)}`);
      await attempt("POST", "/sts/exchange_refresh_token", {}, bad);
      await attempt("GET", "/scim/v2/Users", undefined, bad);
      await attempt("POST", `/iam/v2/groups/${root}`, { name: "a" }, { "x-server-timeout": "0.000001" });
    }
    await victim.stop(); // which writes what it has counted
    const records = (await counted()).slice(before);
    expect(records.reduce((sum, { count }) => sum + count, 0)).toBe(300);
    expect(records.length).toBeLessThan(10); // two for each minute and code
    for (const record of records)
      expect(record).toMatchObject({
        address: "127.0.0.1",
        ...{ issuer: "", method: "", scope: "", resource: "", requestId: "", userAgent: "" },
      });
    expect(await recordsOf(tag)).toEqual([]);
  });

  test("says over every protocol where a call came from", async () => {
    const { root, admin, baseUrl } = server();
    const grpc = createGrpcTransport({ baseUrl });
    const web = createGrpcWebTransport({ baseUrl, httpVersion: "2" });
    const connect = createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false });
    for (const transport of [grpc, web, connect]) {
      const headers = { ...tagged(), authorization: `Bearer ${admin}`, "user-agent": "tester/1" };
      await createClient(GroupsService, transport).createGroup({ parent: root, group: { name: "a" } }, { headers });
      await expectRecords([headers, { code: "OK", address: "127.0.0.1", userAgent: "tester/1" }]);
    }
  });

  test("shows administrators of the platform all of it, and nobody else", async () => {
    const { call, root } = server();
    await call("GET", "/iam/v2/groups", undefined, null);
    const listed = async () => (await call("GET", "/audit/v1/records?result=UNAUTHENTICATED")).body.records;
    await expect.poll(async () => (await listed()).length).toBeGreaterThan(0);
    expect((await listed())[0]).toMatchObject({ caller: "", address: "127.0.0.1", userAgent: "", scope: "" });
    expect((await call("GET", "/audit/v1/records")).body.records[0]).toHaveProperty("requestId");
    const { token } = await stranger();
    const refused = await call("GET", "/audit/v1/records", undefined, token);
    expect([refused.status, refused.body.message]).toEqual([
      403,
      "Permission denied: CAP_AUDIT_LIST needed at the whole platform",
    ]);
    const ofRoot = (await call("GET", `/audit/v1/records/${root}?result=UNAUTHENTICATED`)).body.records;
    expect(ofRoot).toEqual([]);
  });

  test("records nothing that reads, and nothing that was only checked", async () => {
    const { call, root } = server();
    const quiet = [tagged(), tagged(), tagged(), tagged()] as const;
    await call("GET", `/iam/v2/groups/${root}`, undefined, undefined, quiet[0]);
    await call("GET", `/iam/v2/groups/${root}/${"0".repeat(16)}`, undefined, undefined, quiet[1]);
    await call("POST", `/iam/v2/groups/${root}?validate_only=true`, { name: "a" }, undefined, quiet[2]);
    await call("POST", `/iam/v2/groups/${root}?validate_only=true`, { name: "NO" }, undefined, quiet[3]);
    const last = tagged();
    await call("POST", `/iam/v2/groups/${root}`, { name: "NO" }, undefined, last);
    await expectRecords([last, { code: "INVALID_ARGUMENT" }]);
    for (const headers of quiet) expect(await recordsOf(headers)).toEqual([]);
  });

  test("records the use of the token service", async () => {
    const { call, admin, administrator, baseUrl } = server();
    const [good, denied] = [tagged(), tagged()];
    expect((await call("POST", "/sts/exchange", { cap: "groups.list" }, admin, good)).status).toBe(200);
    await call("POST", "/sts/exchange", { identity: "other" }, admin, denied);
    const known = { method: "sts/exchange", caller: administrator, issuer: baseUrl, address: "127.0.0.1" };
    await expectRecords([good, { ...known, code: "OK" }], [denied, { ...known, code: "PERMISSION_DENIED" }]);
  });

  test("records the first sign-in of a user at a provider, and no other", async () => {
    const key = await testKey("RS256", "k");
    const issuer = await startIssuer(key);
    onTestFinished(() => issuer.close());
    const { call, root } = server();
    const defaultRole = (await call("GET", "/iam/v2/roles?name=viewer")).body.roles[0].uid;
    const oidc = { issuer: issuer.url, clientId: "web", pkceEnabled: true };
    const provider = await call("POST", `/iam/v2/identityProviders/${root}`, { name: "login", defaultRole, oidc });
    const now = Math.floor(Date.now() / 1000);
    const token = await sign(key, { iss: issuer.url, sub: "jane", aud: "web", iat: now, exp: now + 300 });
    for (let i = 0; i < 2; i++) expect((await call("GET", "/iam/v2/groups", undefined, token)).status).toBe(200);
    const caller = userIdentityUid(issuer.url, "jane");
    const records = (await allRecords()).filter((record) => record.caller === caller);
    expect(records).toMatchObject([
      { method: "iam/first_sign_in", issuer: issuer.url, scope: provider.body.uid, resource: caller, code: "OK" },
    ]);
  });

  test("holds no secret", async () => {
    const { call, root, admin } = server();
    const roleUid = (await call("GET", "/iam/v2/roles?name=viewer")).body.roles[0].uid;
    const made = tagged();
    const invite = await call("POST", `/iam/v2/groupInvites/${root}`, { roleUid, ttl: "3600s" }, undefined, made);
    expect(invite.status).toBe(200);
    await expectRecords([made, { code: "OK" }]);
    const text = JSON.stringify(await allRecords());
    for (const secret of [invite.body.code, admin, "secret text"]) expect(text).not.toContain(secret);
  });

  test("is listed by the command, as a table and as JSON lines", async () => {
    const { call, root, databaseUrl, administrator } = server();
    const made = tagged();
    const { uid } = (await call("POST", `/iam/v2/groups/${root}`, { name: "a" }, undefined, made)).body;
    const printed: string[] = [];
    const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      printed.push(String(text));
      return true;
    });
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const run = async (...args: string[]) => {
      printed.length = 0;
      const status = await runCommand(["audit", "--database", databaseUrl, ...args]);
      return { status, lines: printed.join("").split("\n").slice(0, -1) };
    };
    try {
      const json = await run("--json", "--since", "1h", "--caller", administrator, "--method", "CreateGroup");
      const records: Json[] = json.lines.map((line) => JSON.parse(line));
      expect(records.every(({ caller }) => caller === administrator)).toBe(true);
      expect(records.find(({ resource }) => resource === uid)).toEqual({
        id: expect.stringMatching(/^[0-9a-f]{16}$/),
        time: expect.stringMatching(/Z$/),
        caller: administrator,
        issuer: server().baseUrl,
        method: "platform.iam.v2.GroupsService/CreateGroup",
        scope: root,
        resource: uid,
        code: "OK",
        count: 1,
        requestId: made["x-request-id"],
        address: "127.0.0.1",
        userAgent: expect.any(String),
      });
      const table = await run();
      expect(table.lines[0]).toMatch(/^TIME +CODE +COUNT +REQUEST +CALLER +ADDRESS +METHOD +RESOURCE/);
      expect(table.lines.filter((line) => line.includes(uid))).toHaveLength(1);
      expect((await run("--since", "2999-01-01", "--json")).lines).toEqual([]);
      for (const wrong of ["yesterday", "1w", "2026-99-99"]) expect((await run("--since", wrong)).status).toBe(1);
    } finally {
      write.mockRestore();
      errors.mockRestore();
    }
  });
});
