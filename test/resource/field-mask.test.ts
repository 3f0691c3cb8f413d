import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { RepoSchema } from "../../gen/platform/registry/v2/repos_pb.ts";
import { applyPaths, effectivePaths, enforceFieldBehavior, pathName } from "../../src/resource/field-mask.ts";

const repo = (init: MessageInitShape<typeof RepoSchema>) => create(RepoSchema, init);
const mask = (...paths: string[]) => create(FieldMaskSchema, { paths });
const names = (paths: ReturnType<typeof effectivePaths>) => paths.map(pathName);

describe("effectivePaths", () => {
  it("takes the populated fields without a mask, nested ones singly, output-only ones never", () => {
    const body = repo({ uid: "x", description: "d", syncConfig: { source: "s" }, bundles: ["base"], etag: '"1"' });
    expect(names(effectivePaths(RepoSchema, undefined, body))).toEqual([
      "description",
      "bundles",
      "sync_config.source",
    ]);
    expect(names(effectivePaths(RepoSchema, mask(), body))).toEqual(["description", "bundles", "sync_config.source"]);
  });

  it.each([
    [["description"], ["description"]],
    [
      ["catalogTier", "active_tags"],
      ["catalog_tier", "active_tags"],
    ],
    [["syncConfig.source"], ["sync_config.source"]],
    [["uid", "createTime", "etag", "name"], ["name"]],
  ])("reads %j", (paths, expected) =>
    expect(names(effectivePaths(RepoSchema, mask(...paths), repo({})))).toEqual(expected),
  );

  it("names every mutable field for a single star", () => {
    const all = names(effectivePaths(RepoSchema, mask("*"), repo({})));
    expect(all).toContain("description");
    expect(all).not.toContain("uid");
    expect(all).not.toContain("create_time");
  });

  it.each([["nope"], [""], ["name.x"], ["bundles.0"], ["sync_config.nope"], ["*", "name"], ["NAME"], ["__proto__"]])(
    "refuses %j on update_mask",
    (...paths) => expect(() => effectivePaths(RepoSchema, mask(...paths), repo({}))).toThrow(/update_mask: /),
  );
});

describe("applyPaths", () => {
  const before = repo({ name: "a", description: "old", bundles: ["base"], syncConfig: { source: "s", google: "g" } });
  const apply = (body: MessageInitShape<typeof RepoSchema>, ...paths: string[]) =>
    applyPaths(RepoSchema, before, repo(body), effectivePaths(RepoSchema, mask(...paths), repo(body)));

  it("changes only what is named and leaves the original alone", () => {
    const after = apply({ name: "b", description: "new" }, "description");
    expect([after.name, after.description, before.description]).toEqual(["a", "new", "old"]);
  });

  it("clears what is named and not given", () => {
    expect(apply({}, "description", "bundles")).toMatchObject({ description: "", bundles: [], name: "a" });
    expect(apply({}, "sync_config").syncConfig).toBeUndefined();
    expect(apply({}, "sync_config.google").syncConfig).toMatchObject({ source: "s", google: "" });
  });

  it("replaces everything for a star", () => {
    expect(apply({ name: "n" }, "*")).toMatchObject({ name: "n", description: "", bundles: [] });
  });

  it("moves a oneof to the member that is named", () => {
    const identity = create(IdentitySchema, { relationship: { case: "staticKeys", value: { issuer: "i" } } });
    const body = create(IdentitySchema, {
      relationship: { case: "claimMatch", value: { sub: { case: "subject", value: "s" } } },
    });
    const after = applyPaths(
      IdentitySchema,
      identity,
      body,
      effectivePaths(IdentitySchema, mask("claim_match.subject"), body),
    );
    expect(after.relationship).toMatchObject({ case: "claimMatch", value: { sub: { value: "s" } } });
  });
});

describe("enforceFieldBehavior", () => {
  it("keeps what the server sets, at every depth", () => {
    const before = repo({ syncConfig: { source: "s", uniqueTags: true } });
    const after = repo({ uid: "forged", syncConfig: { source: "t", buildOverlay: "forged" } });
    enforceFieldBehavior(RepoSchema, before, after);
    expect(after).toMatchObject({ uid: "", syncConfig: { source: "t", uniqueTags: true, buildOverlay: "" } });
  });

  it("clears it on create", () => {
    const identity = create(IdentitySchema, { uid: "forged", email: "a@b", name: "n" });
    enforceFieldBehavior(IdentitySchema, undefined, identity);
    expect(identity).toMatchObject({ uid: "", email: "", name: "n" });
  });
});
