/** `:list`: lists over REST with the request in the body, for look-ups of many ids. */

import { getOption } from "@bufbuild/protobuf";
import { beforeAll, expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { readAudit } from "../../src/audit/index.ts";
import { openDatabase } from "../../src/store/index.ts";
import { protoFile } from "../contract/generated.ts";
import { expectNoFaults } from "../faults.ts";
import { type Json, methods } from "./contract.ts";
import { advisory, importAdvisories, importDocuments, importMetadata } from "./feed-fixtures.ts";
import { freshName, freshUid, makeGroup, makeRepo } from "./fixtures.ts";
import { onEveryServer, type Platform } from "./platform.ts";
import { readRest } from "./rest-client.ts";

/** Lists by the path of their POST form. */
const posted = [...methods.values()].flatMap((method) =>
  getOption(method, http).additionalBindings.flatMap(({ pattern: { case: verb, value }, body }) =>
    verb === "post" && value.endsWith(":list") ? [{ name: method.name, path: value, body }] : [],
  ),
);

test("every list by uids or ids has one", () => {
  const many = [...methods.values()].filter(
    ({ name, input }) => name.startsWith("List") && input.fields.some((field) => /^(uidp|ids|cves)$/.test(field.name)),
  );
  expectNoFaults(
    many
      .filter(({ name }) => !posted.some((each) => each.name === name))
      .map(
        ({ name, parent }) => `${protoFile(parent)}: ${name} needs a second google.api.http binding, post: "…:list"`,
      ),
  );
  expect(posted.map(({ name }) => name).toSorted()).toEqual(many.map(({ name }) => name).toSorted());
  expect(new Set(posted.map(({ body }) => body))).toEqual(new Set(["*"]));
});

/** Of lists without times. */
const orders: Readonly<Record<string, string>> = { ListFindings: "level desc", ListComponents: "package desc" };

async function postList(platform: Platform, path: string, request: Json, headers: Record<string, string> = {}) {
  const response = await platform.fetch(path, { method: "POST", body: JSON.stringify(request), headers });
  return readRest(response);
}

onEveryServer("a look-up of many ids", (platform) => {
  let group: string;
  let repos: Json[];
  const ids = Array.from({ length: 1000 }, (_, i) => `CVE-2026-${freshName(String(i))}`);
  const answer = async (path: string, request: Json) => {
    const outcome = await postList(platform(), path, request);
    if (!outcome.ok) throw new Error(JSON.stringify(outcome.status));
    return outcome.message;
  };

  beforeAll(async () => {
    group = (await makeGroup(platform())).uid;
    repos = await Promise.all(Array.from({ length: 5 }, () => makeRepo(platform(), group)));
    const named = [ids[0]!, ids[500]!, ids[999]!];
    await importAdvisories(platform(), group, ...named.map((advisoryId) => advisory({ advisoryId })));
    await importDocuments(platform(), ...named.map((id) => ({ id: freshName("package"), advisories: [{ id }] })));
    await importMetadata(platform(), ...named.map((id) => ({ id })));
  });

  test.each(posted)("$name answers at $path as its GET does", async ({ name, path }) => {
    const orderBy = orders[name] ?? "created_at desc";
    const request = { orderBy, skip: 1 };
    expect(await answer(path, request)).toEqual(await platform().ok(name, request));
  });

  test.each([
    ["/advisory/v2/documents:list", () => ({ cves: ids })],
    ["/advisory/v2/metadata:list", () => ({ ids })],
    ["/vulnerabilities/v2/advisories:list", () => ({ advisory_ids: ids })],
  ])("%s takes 1,000 ids, page by page, and no more", async (path, request) => {
    const first = await answer(path, { ...request(), pageSize: 2 });
    expect(first.totalCount).toBe("3");
    const second = await answer(path, { ...request(), pageSize: 2, pageToken: first.nextPageToken });
    expect(second.totalCount).toBe("3");
    expect(second.nextPageToken).toBeUndefined();
    const [key] = Object.keys(request());
    const more = await postList(platform(), path, { [key!]: [...ids, "more"] });
    expect(more.ok ? "" : more.status.message).toContain(`${key}: `);
  });

  test("takes 1,000 uids", async () => {
    const uids = [...Array.from({ length: 995 }, () => freshUid(group)), ...repos.map(({ uid }) => uid)];
    const page = await answer("/registry/v2/repos:list", { uidp: { ids: uids }, orderBy: "name" });
    expect(page.repos.map(({ uid }: Json) => uid)).toEqual(
      repos.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(({ uid }) => uid),
    );
  });

  test("takes tokens of a GET, and gives those that a GET takes", async () => {
    const query = { uidp: { childrenOf: group }, orderBy: "name" };
    const first = await platform().ok("ListRepos", { ...query, pageSize: 2 });
    const second = await answer("/registry/v2/repos:list", { pageToken: first.nextPageToken, pageSize: 2 });
    const third = await platform().ok("ListRepos", { pageToken: second.nextPageToken });
    const walked = [first, second, third].flatMap((page) => page.repos.map(({ name }: Json) => name));
    expect(walked).toEqual(repos.map(({ name }) => name).toSorted());
  });

  test("is a read: nothing is recorded, and no answer is kept for a key", async () => {
    const headers = { "idempotency-key": freshName(), "x-request-id": freshName("request") };
    const path = "/registry/v2/repos:list";
    const before = await postList(platform(), path, { uidp: { childrenOf: group } }, headers);
    await makeRepo(platform(), group);
    const after = await postList(platform(), path, { uidp: { childrenOf: group } }, headers);
    expect([before, after].map((outcome) => outcome.ok && outcome.message.totalCount)).toEqual(["5", "6"]);
    const database = await openDatabase(platform().databaseUrl);
    const records: (string | undefined)[] = [];
    for await (const { requestId } of readAudit(database.read, {})) records.push(requestId);
    await database.close();
    expect(records.length).toBeGreaterThan(0);
    expect(records).not.toContain(headers["x-request-id"]);
  });

  test("needs a token, and knows no other verb", async () => {
    const path = "/registry/v2/repos:list";
    const denied = await platform().fetch(path, { method: "POST", body: "{}", headers: { authorization: "" } });
    expect(denied.status).toBe(401);
    const got = await platform().fetch(path);
    expect([got.status, got.headers.get("allow")]).toEqual([405, "POST"]);
  });
});
