import { create, getOption, isFieldSet, type Message } from "@bufbuild/protobuf";
import {
  field as fieldOption,
  MapRulesSchema,
  message as messageOption,
  RepeatedRulesSchema,
} from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { describe, expect, test } from "vitest";
import { ListResolvedVulnsReportsRequestSchema } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { IdentitySchema } from "../../../gen/platform/iam/v2/identities_pb.ts";
import { ListReposRequestSchema, RepoSchema } from "../../../gen/platform/registry/v2/repos_pb.ts";
import { TagSchema } from "../../../gen/platform/registry/v2/tags_pb.ts";
import { violationsOf } from "../../../src/contract/index.ts";
import { contractTypes } from "../../codec/message-types.ts";

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

test("the search ends when there are more violations than a response lists", () => {
  const tags = Array(100).fill("not a tag");
  const images = Array(200).fill({ repo: "", tags });
  const request = create(ListResolvedVulnsReportsRequestSchema, { imageRefs: images });
  expect(violationsOf(ListResolvedVulnsReportsRequestSchema, request)).toHaveLength(21);
});

test("of a list or map that is too long no item is looked at", () => {
  const repo = create(RepoSchema, { name: "nginx", bundles: Array(100_000).fill("No Bundle") });
  expect(violationsOf(RepoSchema, repo)).toEqual([{ field: "bundles", description: "must have at most 20 items" }]);
  const claims = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`${i}`, ""]));
  const identity = create(IdentitySchema, {
    name: "ci",
    relationship: {
      case: "claimMatch",
      value: { iss: { case: "issuer", value: "https://a.example" }, sub: { case: "subject", value: "a" }, claims },
    },
  });
  expect(violationsOf(IdentitySchema, identity)).toEqual([
    { field: "claim_match.claims", description: "must have at most 32 entries" },
  ]);
});

test("a oneof is named by its members, a key by no more than its beginning", () => {
  const value = { claims: { ["k".repeat(2000)]: "x" } };
  const identity = create(IdentitySchema, { name: "ci", relationship: { case: "claimMatch", value } });
  expect(violationsOf(IdentitySchema, identity)).toEqual([
    { field: "claim_match.issuer", description: "one of issuer, issuer_pattern is required" },
    { field: "claim_match.subject", description: "one of subject, subject_pattern is required" },
    { field: `claim_match.claims["${"k".repeat(64)}…"]`, description: "its key must be at most 255 characters" },
  ]);
});

test("the rules of the contract are those that the search knows", () => {
  for (const schema of contractTypes.filter(({ typeName }) => typeName.startsWith("platform."))) {
    const own = getOption(schema, messageOption);
    expect([...own.cel, ...own.celExpression, ...own.oneof], schema.typeName).toEqual([]);
    for (const field of schema.fields.filter(({ fieldKind }) => fieldKind === "list" || fieldKind === "map")) {
      const { type, required, cel } = getOption(field, fieldOption);
      expect([required, cel], `${field}`).toEqual([false, []]);
      if (type.case !== "repeated" && type.case !== "map") continue;
      const rules: Message = type.value;
      const { fields } = type.case === "repeated" ? RepeatedRulesSchema : MapRulesSchema;
      const names = fields.filter((rule) => isFieldSet(rules, rule)).map(({ name }) => name);
      expect(["min_items", "max_items", "items", "min_pairs", "max_pairs", "keys", "values"], `${field}`).toEqual(
        expect.arrayContaining(names),
      );
    }
  }
});
