/** SCIM calls are calls like every other: bounded, limited, counted and recorded. */
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type AuditRecord, readAudit } from "../../src/audit/index.ts";
import { builtInRoleUid } from "../../src/services/iam/built-in-roles.ts";
import { type Database, openDatabase } from "../../src/store/index.ts";
import { request as anyBody, filter as anyFilter } from "../scim/hostile.ts";
import { type Json, type LiveServer, onEveryServer, type Reply } from "./live-server.ts";

const providers = "/iam/v1/identityProviders";
let count = 0;

/** A provider of a new organisation, with the token of its client. */
async function provision(server: LiveServer) {
  const { call } = server;
  const group = (await call("POST", "/iam/v2/groups", { name: "acme" })).body.uid as string;
  const oidc = { issuer: `https://login${count++}.example`, clientId: "web", pkceEnabled: true };
  const given = { name: "login", defaultRole: builtInRoleUid("viewer"), oidc };
  const uid = (await call("POST", `${providers}/${group}`, given)).body.id as string;
  const { token, etag } = (await call("POST", `${providers}/${uid}:generateScimToken`, {})).body;
  const enable = (enabled: boolean, tag: string) =>
    call("POST", `${providers}/${uid}:setScimEnabled`, { enabled, etag: tag });
  const { etag: enabledEtag } = (await enable(true, etag)).body;
  const scim = (text: string, body?: Json, headers: Record<string, string> = {}, as: string | null = token) => {
    const [method = "", path = ""] = text.split(" ");
    return call(method, `/scim/v2${path}`, body, as, headers);
  };
  return { group, uid, token: token as string, scim, disable: () => enable(false, enabledEtag) };
}

type Provider = Awaited<ReturnType<typeof provision>>;

/** A list in a list, and so on. */
const nested = (depth: number): Json => JSON.parse("[".repeat(depth) + "]".repeat(depth));
const filter = (text: string) => `filter=${encodeURIComponent(text)}`;
const errorOf = ({ status, body }: Reply) => [status, body?.scimType];

onEveryServer("scim calls", { adminListen: "127.0.0.1:0" }, (server) => {
  let p: Provider;
  beforeEach(async () => {
    p = await provision(server());
  });
  const made = async (path: string, body: Json) => {
    const reply = await p.scim(`POST ${path}`, body);
    expect([reply.status, reply.body.detail]).toEqual([201, undefined]);
    return reply.body;
  };

  describe("are bounded", () => {
    test.each<[string, string, Json, number, string | undefined]>([
      ["an op of another type", "PATCH", { Operations: [{ op: {} }] }, 400, "invalidSyntax"],
      ["operations of another type", "PATCH", { Operations: { op: "add" } }, 400, "invalidSyntax"],
      ["a path of another type", "PATCH", { Operations: [{ op: "add", path: [], value: 1 }] }, 400, "invalidPath"],
      ["schemas of another type", "PUT", { schemas: "x", userName: "a" }, 400, "invalidSyntax"],
      ["a list as the body", "PUT", [], 400, "invalidSyntax"],
      ["a value of another type", "PUT", { userName: { a: 1 } }, 400, "invalidValue"],
      ["many values", "PUT", { userName: "a", ims: Array(201).fill({ value: "a" }) }, 400, "tooMany"],
      ["a deep body", "PUT", { userName: "a", nope: nested(100) }, 400, "invalidSyntax"],
      ["a long name", "PUT", { userName: "a".repeat(1025) }, 400, "invalidValue"],
      ["a long external id", "PUT", { userName: "a", externalId: "é".repeat(513) }, 400, "invalidValue"],
      ["a large resource", "PUT", { userName: "a", title: "a".repeat(70_000) }, 413, undefined],
      ["a large body", "PUT", { userName: "a", nope: "a".repeat(300_000) }, 413, undefined],
    ])("%s is refused", async (_, method, body, status, scimType) => {
      const user = await made("/Users", { userName: "jane" });
      expect(errorOf(await p.scim(`${method} /Users/${user.id}`, body))).toEqual([status, scimType]);
      expect((await p.scim(`GET /Users/${user.id}`)).body).toEqual(user);
    });

    test("names as long as they may be are stored", async () => {
      const [userName, externalId] = ["a", "b"].map((each) => each + "\u{10ffff}".repeat(255));
      const user = await made("/Users", { userName, externalId });
      expect(user).toMatchObject({ userName, externalId });
    });

    test.each([
      ["GET /Users?filter=%22", "invalidFilter"],
      [`GET /Users?${filter(Array(21).fill("title pr").join(" or "))}`, "invalidFilter"],
      [`GET /Users?${filter(`${"(".repeat(21)}title pr${")".repeat(21)}`)}`, "invalidFilter"],
      [`GET /Users?${filter(`title eq "${"a".repeat(1100)}"`)}`, "invalidFilter"],
      [`GET /Users?attributes=${Array(101).fill("a").join()}`, "tooMany"],
      ["GET /Users?startIndex=99999999999", "invalidValue"],
    ])("%s is refused", async (call, scimType) => {
      expect(errorOf(await p.scim(call))).toEqual([400, scimType]);
    });

    test("as many names as may be are looked for", async () => {
      expect((await p.scim(`GET /Users?attributes=${Array(100).fill("a").join()}`)).status).toBe(200);
    });

    test("a search that is not a search is refused", async () => {
      for (const body of [{ attributes: 7 }, { filter: {} }, { count: {} }, [], "x"])
        expect((await p.scim("POST /Users/.search", body)).status).toBe(400);
      expect((await p.scim("POST /.search", { count: 1, attributes: ["userName"] })).status).toBe(200);
    });
  });

  test("whatever comes is taken or refused, and is never a fault of the server", async () => {
    const ann = await made("/Users", { userName: "ann", emails: [{ value: "a", type: "work" }] });
    const group = await made("/Groups", { displayName: "g", members: [{ value: ann.id }] });
    const call = fc.oneof(
      fc.constantFrom("POST /Users", "POST /Groups", "POST /.search", "POST /Users/.search"),
      fc
        .constantFrom("PUT", "PATCH")
        .chain((verb) => fc.constantFrom(`${verb} /Users/${ann.id}`, `${verb} /Groups/${group.id}`)),
    );
    await fc.assert(
      fc.asyncProperty(call, anyBody, anyFilter, async (text, body, wanted) => {
        const replies = [await p.scim(text, body), await p.scim(`GET /Users?${filter(wanted)}`)];
        for (const reply of replies) {
          expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(500);
          if (reply.status >= 400)
            expect(reply.body).toMatchObject({ status: String(reply.status), detail: expect.any(String) });
        }
      }),
      { numRuns: 100 },
    );
  });

  describe("know what clients look up", () => {
    test("users by any of their addresses, ids, groups", async () => {
      const emails = [
        { value: "Ann@example.com", type: "work", primary: true },
        { value: "ann@home.example", type: "home" },
      ];
      const ann = await made("/Users", { userName: "ann", externalId: "1", emails });
      const bob = await made("/Users", { userName: "bob", emails: [{ value: "ann@example.com", type: "home" }] });
      const group = await made("/Groups", { displayName: "Makers", members: [{ value: ann.id }] });
      const idsOf = async (path: string, text: string) =>
        (await p.scim(`GET ${path}?${filter(text)}`)).body.Resources.map(({ id }: Json) => id);
      for (const [text, ids] of [
        ['emails[type eq "work"].value eq "ann@example.com"', [ann.id]],
        ['emails[type eq "work"].value eq "ann@home.example"', []],
        [`id eq "${bob.id}"`, [bob.id]],
        ['id eq "nope"', []],
        [`groups.value eq "${group.id}"`, [ann.id]],
        [`groups eq "${group.id}" and userName eq "bob"`, []],
        ['userName eq "BOB" and emails.value eq "ann@example.com"', [bob.id]],
      ] as const)
        expect(await idsOf("/Users", text)).toEqual(ids);
      for (const [text, ids] of [
        [`members eq "${ann.id}"`, [group.id]],
        [`members[value eq "${ann.id}"]`, [group.id]],
        [`id eq "${group.id}" and members eq "${bob.id}"`, []],
        [`id eq "${group.id}" and members eq "${ann.id}"`, [group.id]],
        [`members eq "${ann.id}" and not (members eq "${bob.id}")`, [group.id]],
        ['displayName eq "makers"', [group.id]],
        ["members pr", [group.id]],
        ['members eq "../x"', []],
      ] as const)
        expect(await idsOf("/Groups", text)).toEqual(ids);
    });
  });

  describe("keep members as rows", () => {
    let ids: string[];
    beforeEach(async () => {
      ids = [];
      for (let i = 0; i < 5; i++) ids.push((await made("/Users", { userName: `user${i}` })).id);
    });
    const members = (...of: (string | undefined)[]) => of.map((value) => ({ value }));
    const shown = ({ body }: Reply) => (body.members ?? []).map(({ value }: Json) => value).sort();

    test("which one group shows, and a list only if it is asked to", async () => {
      const { id } = await made("/Groups", { displayName: "g", members: members(...ids) });
      expect(shown(await p.scim(`GET /Groups/${id}`))).toEqual([...ids].sort());
      expect((await p.scim(`GET /Groups/${id}?excludedAttributes=members`)).body.members).toBeUndefined();
      const listed = async (query: string) => (await p.scim(`GET /Groups${query}`)).body.Resources[0].members?.length;
      expect(await listed("")).toBeUndefined();
      expect(await listed("?attributes=displayName,members")).toBe(5);
      expect(await listed("?attributes=members.value")).toBe(5);
      const { body } = await p.scim("POST /Groups/.search", { attributes: ["members"] });
      expect(Object.keys(body.Resources[0]).sort()).toEqual(["id", "members", "schemas"]);
    });

    test("which a PATCH adds and removes, in every form", async () => {
      const { id, meta } = await made("/Groups", { displayName: "g", members: members(ids[0]) });
      const patch = async (...Operations: Json[]) => shown(await p.scim(`PATCH /Groups/${id}`, { Operations }));
      expect(await patch({ op: "Add", path: "members", value: members(ids[0], ids[1], ids[2]) })).toEqual(
        ids.slice(0, 3).sort(),
      );
      expect(await patch({ op: "Remove", path: "members", value: members(ids[0], "nobody") })).toEqual(
        ids.slice(1, 3).sort(),
      );
      expect(await patch({ op: "remove", path: `members[value eq "${ids[1]}"]` })).toEqual([ids[2]]);
      expect(await patch({ op: "add", value: { members: members(ids[3]), displayName: "h" } })).toEqual(
        ids.slice(2, 4).sort(),
      );
      expect(await patch({ op: "remove", path: `members[value eq "${ids[2]}" or value eq "x"]` })).toEqual([ids[3]]);
      expect(await patch({ op: "replace", path: "members", value: members(ids[4]) })).toEqual([ids[4]]);
      expect(await patch({ op: "replace", value: { id, displayName: "i" } })).toEqual([ids[4]]);
      const { body } = await p.scim(`GET /Groups/${id}`);
      expect([body.displayName, body.meta.version === meta.version]).toEqual(["i", false]);
      expect(await patch({ op: "remove", path: "members" })).toEqual([]);
      expect(
        (await p.scim(`PATCH /Groups/${id}`, { Operations: [{ op: "add", path: "members", value: members("x") }] }))
          .status,
      ).toBe(400);
    });

    test("which a PUT replaces, and which leave with their user", async () => {
      const { id } = await made("/Groups", { displayName: "g", members: members(ids[0], ids[1]) });
      const put = await p.scim(`PUT /Groups/${id}`, { displayName: "g", members: members(ids[1], ids[2]) });
      expect(shown(put)).toEqual(ids.slice(1, 3).sort());
      expect((await p.scim(`DELETE /Users/${ids[1]}`)).status).toBe(204);
      expect(shown(await p.scim(`GET /Groups/${id}`))).toEqual([ids[2]]);
    });
  });

  describe("are recorded", () => {
    let database: Database;
    beforeAll(async () => {
      database = await openDatabase(server().databaseUrl);
    });
    afterAll(() => database.close());
    const recordsOf = async (requestId: string) => {
      const records: AuditRecord[] = [];
      for await (const record of readAudit(database.read, { requestId })) records.push(record);
      return records;
    };
    /** Makes a call and returns its record, which comes within a second. */
    const recordOf = async (call: (headers: Record<string, string>) => Promise<Reply>) => {
      const id = `scim-${count++}`;
      const { status, headers } = await call({ "x-request-id": id, "user-agent": "okta/1" });
      expect(headers.get("x-request-id")).toBe(id);
      await expect.poll(() => recordsOf(id)).toHaveLength(1);
      return [status, (await recordsOf(id))[0]] as const;
    };

    test("changes that succeed and that fail", async () => {
      const about = { caller: p.uid, scope: p.uid, count: 1, address: "127.0.0.1", userAgent: "okta/1" };
      const jane = { userName: "jane" };
      const created = await recordOf((headers) => p.scim("POST /Users", jane, headers));
      const { id } = (await p.scim(`GET /Users?${filter('userName eq "jane"')}`)).body.Resources[0];
      const uid = `${p.uid}/${id}`;
      expect(created).toMatchObject([201, { ...about, method: "scim/createUser", resource: uid, code: "OK" }]);
      for (const [text, body, status, record] of [
        ["POST /Users", jane, 409, { method: "scim/createUser", resource: "", code: "ALREADY_EXISTS" }],
        ["POST /Users", {}, 400, { method: "scim/createUser", resource: "", code: "INVALID_ARGUMENT" }],
        [`PATCH /Users/${id}`, {}, 400, { method: "scim/patchUser", resource: uid, code: "INVALID_ARGUMENT" }],
        ["DELETE /Groups/nope", undefined, 404, { method: "scim/deleteGroup", resource: "", code: "NOT_FOUND" }],
        [`PUT /Users/${id}`, jane, 200, { method: "scim/replaceUser", resource: uid, code: "OK" }],
        [`DELETE /Users/${id}`, undefined, 204, { method: "scim/deleteUser", resource: uid, code: "OK" }],
      ] as const)
        expect(await recordOf((headers) => p.scim(text, body, headers))).toMatchObject([
          status,
          { ...about, ...record },
        ]);
    });

    test("denials of those whose token is known, and not of strangers", async () => {
      for (const as of ["wrong", null])
        expect((await p.scim("GET /Users", undefined, { "x-request-id": "scim-stranger" }, as)).status).toBe(401);
      const { etag } = (await p.disable()).body;
      const known = { caller: p.uid, scope: p.uid };
      expect(await recordOf((headers) => p.scim("GET /Groups/x", undefined, headers))).toMatchObject([
        403,
        { ...known, method: "scim/getGroup", code: "PERMISSION_DENIED" },
      ]);
      const rotated = await server().call("POST", `${providers}/${p.uid}:regenerateScimToken`, {
        overlap: "1s",
        etag,
      });
      expect(rotated.status).toBe(200);
      await expect.poll(async () => (await p.scim("GET /Users")).status).toBe(401);
      expect(await recordOf((headers) => p.scim("POST /Users", {}, headers))).toMatchObject([
        401,
        { ...known, method: "scim/createUser", code: "UNAUTHENTICATED" },
      ]);
      expect(await recordsOf("scim-stranger")).toEqual([]);
    });

    test("but not what reads", async () => {
      expect((await p.scim("GET /Users/nope", undefined, { "x-request-id": "scim-reads" })).status).toBe(404);
      await recordOf((headers) => p.scim("POST /Users", {}, headers));
      expect(await recordsOf("scim-reads")).toEqual([]);
    });
  });

  test("have deadlines", async () => {
    const past = await p.scim("POST /Users", { userName: "late" }, { "x-server-timeout": "0" });
    expect([past.status, past.body.status]).toEqual([504, "504"]);
    expect((await p.scim("GET /Users", undefined, { "x-server-timeout": "soon" })).status).toBe(400);
    expect((await p.scim("GET /Users", undefined, { "x-server-timeout": "20" })).body.totalResults).toBe(0);
  });

  test("are counted", async () => {
    const counted = async (method: string, code: string) => {
      const text = await (await fetch(`http://127.0.0.1:${server().running.adminPort}/metrics`)).text();
      const line = text
        .split("\n")
        .find((each) => [`"scim/${method}"`, `"${code}"`, '"scim"'].every((part) => each.includes(part)));
      return Number(line?.split(" ").at(-1) ?? 0);
    };
    const calls = [
      ["createUser", "OK", "POST /Users", { userName: "jane" }],
      ["createUser", "ALREADY_EXISTS", "POST /Users", { userName: "JANE" }],
      ["listGroups", "OK", "GET /Groups", undefined],
      ["search", "INVALID_ARGUMENT", "POST /.search", []],
      ["describe", "NOT_FOUND", "GET /%ff", undefined],
    ] as const;
    const before = await Promise.all(calls.map(([method, code]) => counted(method, code)));
    for (const [, , text, body] of calls) await p.scim(text, body);
    expect(await Promise.all(calls.map(([method, code]) => counted(method, code)))).toEqual(before.map((n) => n + 1));
  });
});

onEveryServer(
  "scim calls beyond a limit",
  { quotas: "scim_users=2,scim_groups=1,scim_members=1", rateLimitList: "1/3", rateLimitExchange: "1/3" },
  (server) => {
    test("are refused by quotas, of each organisation", async () => {
      for (const { scim, group } of [await provision(server()), await provision(server())]) {
        const ids = [];
        for (const userName of ["a", "b"]) ids.push((await scim("POST /Users", { userName })).body.id);
        const refused = async (text: string, body: Json, kind: string, limit: number) => {
          const reply = await scim(text, body);
          expect([reply.status, reply.body.status]).toEqual([429, "429"]);
          expect(reply.body.detail).toContain(`an organisation can have ${limit} ${kind} (--quotas)`);
        };
        expect(group).toBeDefined();
        await refused("POST /Users", { userName: "c" }, "scim_users", 2);
        const members = ids.map((value) => ({ value }));
        await refused("POST /Groups", { displayName: "g", members }, "scim_members", 1);
        const made = await scim("POST /Groups", { displayName: "g", members: members.slice(1) });
        expect(made.status).toBe(201);
        const add = { Operations: [{ op: "add", path: "members", value: members }] };
        await refused(`PATCH /Groups/${made.body.id}`, add, "scim_members", 1);
        expect((await scim(`GET /Groups/${made.body.id}`)).body.members).toHaveLength(1);
        const other = { displayName: "g", members: members.slice(0, 1) };
        expect((await scim(`PUT /Groups/${made.body.id}`, other)).status).toBe(200);
        await refused("POST /Groups", { displayName: "h" }, "scim_groups", 1);
        expect((await scim(`DELETE /Users/${ids[0]}`)).status).toBe(204);
        expect((await scim("POST /Users", { userName: "c" })).status).toBe(201);
      }
    });

    test("are refused by rates, of each provider", async () => {
      const [one, other] = [await provision(server()), await provision(server())];
      const lists = async ({ scim }: Provider) => {
        const replies = [];
        for (let i = 0; i < 10; i++) replies.push(await scim("GET /Users"));
        return replies.filter(({ status }) => status === 429);
      };
      const refused = await lists(one);
      expect(refused.length).toBeGreaterThan(0);
      expect(refused[0]!.headers.get("retry-after")).toMatch(/^\d+$/);
      expect(refused[0]!.body).toMatchObject({ status: "429", detail: expect.stringContaining("list") });
      expect((await other.scim("GET /Users")).status).toBe(200);
      expect((await one.scim("POST /Users", { userName: "a" })).status).toBe(201);
    });

    test("are refused for their address where their token is not for", async () => {
      const { scim, token } = await provision(server());
      expect((await scim("GET /Users/nope")).status).toBe(404);
      const statuses = [];
      for (let i = 0; i < 10; i++)
        statuses.push((await server().call("GET", "/sts/exchange?aud=x", undefined, token)).status);
      expect([statuses[0], statuses.includes(429)]).toEqual([401, true]);
    });
  },
);
