import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { IdentitySchema } from "../../gen/platform/iam/v2/identities_pb.ts";
import { ListReposRequestSchema, RepoSchema } from "../../gen/platform/registry/v2/repos_pb.ts";
import { TagSchema } from "../../gen/platform/registry/v2/tags_pb.ts";
import { violationsOf } from "../../src/contract/index.ts";

const nameRule = { field: "name", description: 'name must match "^[a-z0-9 ._-]{1,}$"' };

test("what is well has no violations", () => {
  expect(
    violationsOf(RepoSchema, create(RepoSchema, { name: "library/nginx", description: "One line", bundles: ["base"] })),
  ).toEqual([]);
  expect(violationsOf(ListReposRequestSchema, create(ListReposRequestSchema, { pageSize: 1_000_000 }))).toEqual([]);
});

describe("a name that fails is reported alone, in the words of the specification", () => {
  test.each([
    ["nothing", {}],
    ["an upper-case letter", { name: "CI" }],
    ["a name and a description", { name: "", description: "two\nlines" }],
  ])("%s", (_what, init) => {
    expect(violationsOf(IdentitySchema, create(IdentitySchema, init))).toEqual([nameRule]);
  });
});

test("otherwise all come, in the order of field numbers", () => {
  const repo = create(RepoSchema, {
    name: "nginx",
    description: "two\nlines",
    catalogTier: 77 as never,
    bundles: ["base", "no-such-bundle"],
    aliases: ["no tag"],
    activeTags: ["1.0", "not a tag"],
    etag: "x".repeat(200),
  });
  const violations = violationsOf(RepoSchema, repo);
  expect(violations.map(({ field }) => field)).toEqual([
    "description",
    "catalog_tier",
    "bundles[1]",
    "aliases[0]",
    "active_tags[1]",
    "etag",
  ]);
  expect(violations[0]?.description).toBe('description must match "^[\\S ]{0,512}$"');
});

test("a rule on one request field names it in snake_case", () => {
  const request = create(ListReposRequestSchema, { skip: -1, pageSize: -1 });
  expect(violationsOf(ListReposRequestSchema, request).map(({ field }) => field)).toEqual(["page_size", "skip"]);
});

test("rules of nested messages name their path", () => {
  const repo = create(RepoSchema, { name: "nginx", syncConfig: { source: "" } });
  expect(violationsOf(RepoSchema, repo).map(({ field }) => field)).toEqual(["sync_config.source"]);
});

describe("only what is asked for", () => {
  const tag = create(TagSchema, { name: "not a tag", digest: "sha256:short" });
  test.each([
    ["digest", ["digest"]],
    ["name", ["name"]],
    ["deprecated", []],
  ])("%s", (asked, fields) => {
    const violations = violationsOf(TagSchema, tag, ([part]) => part?.kind === "field" && part.name === asked);
    expect(violations.map(({ field }) => field)).toEqual(fields);
  });
});
