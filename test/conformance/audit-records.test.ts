/** The audit records that an organisation may see over the API. */
import { beforeAll, expect, test } from "vitest";
import { appendAudit, auditEntry, emptyRecord } from "../../src/audit/index.ts";
import type { Json } from "./contract.ts";
import { freshName, freshUid, type Member, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { fieldsOf } from "./outcome.ts";
import { onEveryServer, protocols } from "./platform.ts";

onEveryServer("audit records", (platform) => {
  let group: string;
  let repo: Json;
  let owner: Member;

  beforeAll(async () => {
    group = (await makeGroup(platform())).uid;
    owner = await makeMember(platform(), group, "owner");
    repo = await platform().ok(
      "CreateRepo",
      { parent: group, repo: { name: freshName() } },
      { as: owner.token, headers: { "x-request-id": "made" } },
    );
  });

  const list = (request: Json, as = owner.token) => platform().read("ListAuditRecords", request, { as });

  test("are those of what is in the group, newest first, over every protocol", async () => {
    const { records, totalCount, estimated } = await list({ scope: group, caller: owner.uid });
    expect(records).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{16}$/),
        time: expect.any(String),
        caller: owner.uid,
        issuer: expect.stringMatching(/^http/),
        method: "platform.registry.v2.ReposService/CreateRepo",
        scope: group,
        resource: repo.uid,
        result: "OK",
        count: "1",
        requestId: "made",
        address: "127.0.0.1",
        userAgent: expect.any(String),
      },
    ]);
    expect([totalCount, estimated]).toEqual(["1", false]);
    const created = await list({ scope: group, result: "OK" });
    expect(created.records.map(({ method }: Json) => method.split("/")[1])).toEqual([
      "CreateRepo",
      "CreateRoleBinding",
      "CreateIdentity",
      "CreateGroup",
    ]);
    for (const over of protocols)
      expect(
        await platform().ok("ListAuditRecords", { scope: group, result: "OK" }, { as: owner.token, over }),
      ).toEqual(created);
    expect((await list({ scope: repo.uid })).records.map(({ method }: Json) => method)).toEqual([
      "platform.registry.v2.ReposService/CreateRepo",
    ]);
  });

  test("are filtered by method, result and time", async () => {
    const { records } = await list({ scope: group, method: "CreateRepo" });
    expect(records).toHaveLength(1);
    const { time } = records[0];
    expect((await list({ scope: group, method: "platform.registry.v2.ReposService/CreateRepo" })).totalCount).toBe("1");
    expect((await list({ scope: group, method: "CreateRepo", result: "NOT_FOUND" })).totalCount).toBe("0");
    expect((await list({ scope: group, method: "CreateRepo", startTime: time })).totalCount).toBe("1");
    expect((await list({ scope: group, method: "CreateRepo", endTime: time })).totalCount).toBe("0");
    const always = { startTime: "0001-01-01T00:00:00Z", endTime: "9999-12-31T23:59:59.999Z" };
    expect((await list({ scope: group, method: "CreateRepo", ...always })).totalCount).toBe("1");
  });

  test("come in pages", async () => {
    const place = (await makeGroup(platform())).uid;
    for (let i = 0; i < 4; i++) await makeRepo(platform(), place);
    const all = (await list({ scope: place }, platform().admin)).records;
    expect(all).toHaveLength(5);
    const paged: Json[] = [];
    let pageToken: string | undefined = "";
    while (pageToken !== undefined) {
      const page: Json = await list({ scope: place, pageSize: 2, pageToken }, platform().admin);
      expect(page.totalCount).toBe("5");
      paged.push(...page.records);
      pageToken = page.nextPageToken;
    }
    expect(paged).toEqual(all);
    const { nextPageToken } = await list({ scope: place, pageSize: 2 }, platform().admin);
    const elsewhere = { scope: group, pageToken: nextPageToken };
    const refusal = await platform().refused("ListAuditRecords", elsewhere, "INVALID_ARGUMENT");
    expect(fieldsOf(refusal)).toEqual(["page_token"]);
  });

  test("are for those who hold audit.list there, as owners do and editors do not", async () => {
    const inner = (await makeGroup(platform(), group)).uid;
    const editor = await makeMember(platform(), group, "editor");
    const auditor = await makeMember(platform(), inner, ["CAP_AUDIT_LIST"]);
    const other = (await makeGroup(platform())).uid;
    const refused = (scope: string, as: string) =>
      platform().refused("ListAuditRecords", { scope }, "PERMISSION_DENIED", { as });
    await refused(group, editor.token);
    await refused(group, auditor.token);
    await refused(other, owner.token);
    await refused(freshUid(), owner.token);
    expect((await list({ scope: inner }, auditor.token)).records.length).toBeGreaterThan(0);
    expect((await list({ scope: inner }, owner.token)).records.length).toBeGreaterThan(0);
  });

  test("show an organisation what its identities were denied elsewhere, and who was denied there", async () => {
    const [mine, theirs] = [(await makeGroup(platform())).uid, (await makeGroup(platform())).uid];
    const stranger = await makeMember(platform(), mine, "owner");
    const victim = await makeMember(platform(), theirs, "owner");
    expect((await platform().call("GetGroup", { uid: theirs }, { as: stranger.token })).ok).toBe(false);
    for (const [scope, as] of [
      [mine, stranger.token],
      [theirs, victim.token],
    ] as const)
      await expect
        .poll(async () => (await list({ scope, result: "PERMISSION_DENIED" }, as)).records)
        .toMatchObject([{ caller: stranger.uid, scope: theirs, method: "platform.iam.v2.GroupsService/GetGroup" }]);
    const inner = await makeGroup(platform(), mine);
    const others = await list({ scope: inner.uid, result: "PERMISSION_DENIED" }, stranger.token);
    expect(others.records).toEqual([]);
  });

  test("name no user and no machine of the operator", async () => {
    const record = {
      ...emptyRecord,
      caller: "cli:alice@host",
      method: "cli/token",
      scope: group,
      code: "OK",
      count: 1,
    };
    await platform().write((session) => appendAudit(session, auditEntry(record, Date.now())));
    expect((await list({ scope: group, method: "cli/token" })).records).toMatchObject([{ caller: "cli" }]);
  });
});
