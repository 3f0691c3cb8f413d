/** BatchGet (AIP-231): all that is asked for, in its order, or an error. */
import { getOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { type Json, methods } from "./contract.ts";
import { importDocuments, importMetadata } from "./feed-fixtures.ts";
import { freshName, freshUid, makeGroup, makeMember, makeRepo } from "./fixtures.ts";
import { methodFixtures } from "./method-fixtures.ts";
import { onEveryServer, protocols } from "./platform.ts";
import { readRest } from "./rest-client.ts";

/** The methods, each with its Get, its path, and where its response has the items. */
const batches = [...methods.values()].flatMap((method) => {
  const { pattern, additionalBindings } = getOption(method, http);
  const [items] = method.output.fields;
  if (!method.name.startsWith("BatchGet")) return [];
  const get = [...methods.values()].find(
    ({ name, output }) => /^Get/.test(name) && output === items!.message && output.name === name.slice(3),
  );
  const forms = [{ pattern, body: "" }, ...additionalBindings].map(({ pattern: { case: verb, value }, body }) => ({
    verb,
    value,
    body,
  }));
  return [{ name: method.name, get: get!.name, items: items!.jsonName, path: String(pattern.value), forms }];
});

test("every list by uids or ids has one, with a GET and a POST form", () => {
  /** What has a Get by uid; others are computed, or named in other ways. */
  const named = new Set(
    [...methods.values()].flatMap(({ name, input, output }) =>
      name === `Get${output.name}` && "uid" in input.field ? [output.typeName] : [],
    ),
  );
  const many = [...methods.values()].filter(
    ({ name, input, output }) =>
      name.startsWith("List") &&
      input.fields.some((field) => /^(uidp|ids|cves)$/.test(field.name)) &&
      output.fields.some(({ message }) => message !== undefined && named.has(message.typeName)),
  );
  expect(batches.map(({ name }) => name.slice("BatchGet".length)).toSorted()).toEqual(
    many.map(({ name }) => name.slice("List".length)).toSorted(),
  );
  for (const { path, forms } of batches) {
    expect(forms).toEqual([
      { verb: "get", value: path, body: "" },
      { verb: "post", value: path, body: "*" },
    ]);
    expect(path).toMatch(/^\/\w+\/v[12]\/\w+:batchGet$/);
  }
});

onEveryServer("a batch", (platform) => {
  for (const { name, get, items, path } of batches) {
    test.each(protocols)(`${name} answers what ${get} does, in the order asked, over %s`, async (over) => {
      const { uid: group } = await makeGroup(platform(), "");
      const request = methodFixtures[get]!;
      const named = [await request.request(platform(), group), await request.request(platform(), group)];
      const uids = named.map(({ uid }) => uid).reverse();
      const single = await Promise.all(uids.map((uid) => platform().ok(get, { uid })));
      const answer = await platform().ok(name, { uids: [...uids, uids[0]!] }, { over });
      expect(answer).toEqual({ [items]: [...single, single[0]] });
      expect(Object.keys(answer)).toEqual([items]); // no page, no count
    });

    test(`${name} has the same answer by GET`, async () => {
      const { uid } = await methodFixtures[get]!.request(platform(), (await makeGroup(platform(), "")).uid);
      const outcome = await readRest(await platform().fetch(`${path}?uids=${encodeURIComponent(uid)}`));
      expect(outcome.ok && outcome.message).toEqual(await platform().ok(name, { uids: [uid] }));
    });

    test(`${name} gives nothing when one of them is missing`, async () => {
      const { uid: group } = await makeGroup(platform(), "");
      const { uid } = await methodFixtures[get]!.request(platform(), group);
      const missing = freshUid(group);
      const { details } = await platform().refused(name, { uids: [uid, missing] }, "NOT_FOUND");
      expect(details).toContainEqual(expect.objectContaining({ resourceName: missing }));
      expect(details[0]!.metadata).toMatchObject({ resource: missing });
    });
  }

  test("takes 1,000 uids and no more, and needs one", async () => {
    const { uid: group } = await makeGroup(platform(), "");
    const { uid } = await makeRepo(platform(), group);
    const uids = Array.from({ length: 1000 }, () => uid);
    const post = async (request: Json) => {
      const init = { method: "POST", body: JSON.stringify(request) };
      return readRest(await platform().fetch("/registry/v2/repos:batchGet", init));
    };
    const all = await post({ uids });
    expect(all.ok && all.message.repos.length).toBe(1000);
    expect((await platform().ok("BatchGetRepos", { uids }, { over: "grpc" })).repos.length).toBe(1000);
    const more = await post({ uids: [...uids, uid] });
    expect(more.ok ? "" : more.status.message).toMatch(/^Invalid argument: uids: /);
    await platform().refused("BatchGetRepos", {}, "INVALID_ARGUMENT");
  });

  test.each([
    ["an empty uid", (uid: string) => [uid, ""], "INVALID_ARGUMENT", "uids[1]"],
    ["a malformed uid", (uid: string) => [uid, "nope"], "NOT_FOUND", ""],
  ])("refuses %s", async (_, uidsOf, reason, field) => {
    const { uid } = await makeRepo(platform(), (await makeGroup(platform(), "")).uid);
    const status = await platform().refused("BatchGetRepos", { uids: uidsOf(uid) }, reason as "NOT_FOUND");
    const fields = status.details.flatMap((detail: Json) => detail.fieldViolations ?? []);
    expect(fields.map((violation: Json) => violation.field)).toEqual(field === "" ? [] : [field]);
  });

  test("tells nothing of what the caller may not get, whether or not it exists", async () => {
    const [mine, other] = [(await makeGroup(platform(), "")).uid, (await makeGroup(platform(), "")).uid];
    const { token } = await makeMember(platform(), mine, [Capability.CAP_REPO_LIST]);
    const [own, foreign] = [await makeRepo(platform(), mine), await makeRepo(platform(), other)];
    const missing = freshUid(other);
    const about = async (uid: string) => {
      const request = { uids: [freshUid(mine), own.uid, uid] };
      const status = await platform().refused("BatchGetRepos", request, "PERMISSION_DENIED", { as: token });
      return JSON.stringify(status).replaceAll(uid, "UID");
    };
    expect(await about(foreign.uid)).toBe(await about(missing));
  });

  test("everybody may get the built-in roles", async () => {
    const { token } = await makeMember(platform(), (await makeGroup(platform(), "")).uid, [Capability.CAP_REPO_LIST]);
    const { roles } = await platform().ok("ListRoles", { uidp: { inRoot: true } });
    const uids = roles.map(({ uid }: Json) => uid);
    expect((await platform().ok("BatchGetRoles", { uids }, { as: token })).roles).toEqual(roles);
  });

  test("documents and metadata are named by uid, id or alias", async () => {
    const [id, alias] = [freshName("CVE"), freshName("GHSA")];
    await importDocuments(platform(), { id });
    await importMetadata(platform(), { id, aliases: [alias] });
    const document = await platform().ok("GetDocument", { uid: id });
    const documents = await platform().ok("BatchGetDocuments", { uids: [id, document.uid] });
    expect(documents).toEqual({ documents: [document, document] });
    const metadata = await platform().ok("GetVulnerabilityMetadata", { uid: id });
    const found = await platform().ok("BatchGetVulnerabilityMetadata", { uids: [alias, metadata.uid, id] });
    expect(found).toEqual({ vulnerabilityMetadata: [metadata, metadata, metadata] });
    await platform().refused("BatchGetVulnerabilityMetadata", { uids: [id, freshName()] }, "NOT_FOUND");
  });

  test("a denied batch is in the audit log of the organisation", async () => {
    const { uid: group } = await makeGroup(platform(), "");
    const { token } = await makeMember(platform(), group, [Capability.CAP_TAG_LIST]);
    const uids = [freshUid(group)];
    await platform().refused("BatchGetRepos", { uids }, "PERMISSION_DENIED", { as: token });
    await expect
      .poll(async () => (await platform().ok("ListAuditRecords", { scope: group, method: "BatchGetRepos" })).records)
      .toEqual(protocols.map(() => expect.objectContaining({ scope: uids[0], result: "PERMISSION_DENIED" })));
  });
});
