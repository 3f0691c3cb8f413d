/** What v1 answers where its sources disagree: reads of what is missing, deletions of it, and tags without a digest. */
import { getOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { type Json, methodsOfV1, ruleOf } from "./contract.ts";
import { digestOf, freshName, freshUid, makeGroup, makeRepo } from "./fixtures.ts";
import { onEveryServer, protocols } from "./platform.ts";

/** Requests of v1 that read one thing which is missing in `group`, by method. */
const reads: Readonly<Record<string, (group: string) => Json>> = {
  "v1.ExternalGroupRoleMappings.Get": (group) => ({ uid: `${freshUid(group)}/${"0".repeat(16)}` }),
  "v1.Registry.GetArchs": (group) => ({ repoId: freshUid(group), digest: digestOf(1) }),
  "v1.Registry.GetSize": (group) => ({ repoId: freshUid(group), digest: digestOf(1) }),
  "v1.Registry.GetVulnReport": (group) => ({ repoId: freshUid(group), digest: digestOf(1) }),
  "v1.Artifacts.ListVersions": () => ({ id: freshName("python:missing") }),
  "v1.Advisories.ListAdvisoryEvents": (group) => ({ parentId: freshUid(group) }),
  "v1.Terms.ListAccepted": (group) => ({ group: freshUid(group) }),
  "v1.Vulnerabilities.GetRawVulnReport": () => ({ digest: digestOf(97) }),
};

test("every read of one thing is here", () => {
  const scoped = [...methodsOfV1].flatMap(([name, method]) =>
    getOption(method, http).pattern.case === "get" && !ruleOf(method).unscoped ? [name] : [],
  );
  expect(scoped.filter((name) => reads[name] === undefined)).toEqual([]);
});

onEveryServer("v1", (platform) => {
  for (const [name, request] of Object.entries(reads)) {
    test.each(protocols)(`${name} of what is missing is empty, over %s`, async (over) => {
      const { uid: group } = await makeGroup(platform(), "");
      const answer = await platform().ok(name, request(group), { over });
      for (const value of Object.values(answer)) expect([[], "", "0", 0, false, {}]).toContainEqual(value);
    });
  }

  test("a deletion of what is missing is NOT_FOUND, as in v2", async () => {
    const { uid: group } = await makeGroup(platform(), "");
    for (const [name, method] of methodsOfV1) {
      if (!name.endsWith(".Delete") && !/\.Delete(Repo|Tag)$/.test(name)) continue;
      const [field] = method.input.fields;
      await platform().refused(name, { [field!.jsonName]: freshUid(group) }, "NOT_FOUND");
    }
  });

  test.each(protocols)("a tag may be created without a digest, until it gets one, over %s", async (over) => {
    const { uid: repoId } = await makeRepo(platform(), (await makeGroup(platform(), "")).uid);
    const call = (name: string, request: Json) => platform().ok(`v1.Registry.${name}`, request, { over });
    const tag = { name: "next", bundles: ["application"] };
    const created = await call("CreateTag", { repoId, tag });
    expect(created).toMatchObject({ ...tag, digest: "", deprecated: false });
    expect(await platform().read("GetTag", { uid: created.id })).toMatchObject({ ...tag, digest: "" });
    expect(await call("CreateTag", { repoId, tag })).toEqual(created);
    const deprecated = await call("UpdateTag", { ...created, deprecated: true });
    expect(deprecated).toMatchObject({ digest: "", deprecated: true });
    const digested = await call("CreateTag", { repoId, tag: { ...tag, digest: digestOf(1) } });
    expect(digested).toMatchObject({ id: created.id, digest: digestOf(1), deprecated: false });
    expect(await call("CreateTag", { repoId, tag: { ...tag, deprecated: true } })).toMatchObject({
      digest: digestOf(1),
      deprecated: true,
    });
    const { items } = await call("ListTags", { uidp: { childrenOf: repoId } });
    expect(items).toHaveLength(1);
    const unknown = { repoId: freshUid(repoId.split("/")[0]), tag };
    await platform().refused("v1.Registry.CreateTag", unknown, "NOT_FOUND");
    await platform().refused("v1.Registry.CreateTag", { repoId, tag: { name: ".x" } }, "INVALID_ARGUMENT");
  });

  test("JSON is lowerCamelCase, and is read in both spellings", async () => {
    const parent = (await makeGroup(platform(), "")).uid;
    const init = { method: "POST", body: JSON.stringify({ name: freshName(), catalog_tier: "FIPS" }) };
    const response = await platform().fetch(`/registry/v1/repos/${parent}`, init);
    expect(await response.json()).toMatchObject({ catalogTier: "FIPS" });
    const found = await platform().fetch(`/registry/v1/tags?exclude_referrers=true&excludeDates=true`);
    expect(found.status).toBe(200);
  });

  test.each(["/events/v1/subscriptions", "/ping/v1/ping", "/auth/v1/exchange"])("there is no %s", async (path) => {
    expect((await platform().fetch(path)).status).toBe(404);
  });
});
