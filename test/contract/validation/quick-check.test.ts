/**
 * What the quick check lets pass, the library finds nothing wrong with; what the search finds anything wrong with, it
 * does too.
 */
import { create, type DescMessage, getOption, hasOption, type Message, ScalarType } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { field as fieldOption } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { describe, expect, test } from "vitest";
import {
  CreateRepoRequestSchema,
  ListReposRequestSchema,
  RepoSchema,
} from "../../../gen/platform/registry/v2/repos_pb.ts";
import type { Local } from "../../../src/codec/index.ts";
import { violationsOf } from "../../../src/contract/index.ts";
import { matches } from "../../../src/contract/validation/patterns.ts";
import { createQuickCheck } from "../../../src/contract/validation/quick-check.ts";
import { contractTypes } from "../../codec/message-types.ts";
import { Random } from "../../codec/random.ts";
import { randomMessage } from "../../codec/random-message.ts";

const { keepsMessage: surelyKeepsRules } = createQuickCheck(matches);
const validator = createValidator({ regexMatch: matches });
const isValid = (schema: DescMessage, message: Message) => validator.validate(schema, message).kind === "valid";

const runs = 30_000;
const uid = `${"0123456789".repeat(4)}/0123456789abcdef`;
/** Texts that patterns of the contract take, and such that are near. */
const texts = [
  "",
  "a",
  "nginx",
  uid,
  uid.slice(0, 40),
  "CVE-2024-1234",
  "a@example.com",
  "base",
  "1.0",
  "two\nlines",
  "😀",
  "x".repeat(300),
];
const integers = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31)];

test("of random messages of the contract", { timeout: 120_000 }, () => {
  let valid = 0;
  let passed = 0;
  for (let seed = 0; seed < runs; seed++) {
    const schema = contractTypes[seed % contractTypes.length]!;
    const random = new Random(seed);
    const message = randomMessage(schema, random, 2);
    fillIn(schema, message as unknown as Local, random);
    const isFine = isValid(schema, message);
    const isSure = surelyKeepsRules(schema, message);
    if (isSure) expect(isFine, `${schema.typeName} of seed ${seed}`).toBe(true);
    expect(violationsOf(schema, message).length === 0, `${schema.typeName} of seed ${seed}`).toBe(isFine);
    if (isFine) valid++;
    if (isSure) passed++;
  }
  expect(valid).toBeGreaterThan(runs / 4);
  expect(passed / valid).toBeGreaterThan(0.7);
});

/** Gives fields with rules values that may keep them. */
function fillIn(schema: DescMessage, message: Local, random: Random): void {
  for (const field of schema.fields.filter((one) => hasOption(one, fieldOption) && one.oneof === undefined)) {
    const value = field.scalar === ScalarType.STRING ? random.pick(texts) : random.pick(integers);
    if (random.oneIn(4) || field.fieldKind === "message" || field.fieldKind === "map") continue;
    if (field.fieldKind === "list" && field.scalar === ScalarType.STRING)
      message[field.localName] = Array.from({ length: random.below(4) }, () => random.pick(texts));
    else if (field.fieldKind === "enum" || field.scalar === ScalarType.STRING || field.scalar === ScalarType.INT32)
      message[field.localName] = field.fieldKind === "list" ? [] : value;
  }
}

describe("what is asked for most needs no library", () => {
  test.each<[string, DescMessage, Record<string, unknown>]>([
    ["a list of everything", ListReposRequestSchema, {}],
    [
      "a list with all that pages it",
      ListReposRequestSchema,
      { pageSize: 50, pageToken: "x", orderBy: "name", skip: 1, uidp: { descendantsOf: uid, ids: [uid] } },
    ],
    ["a create", CreateRepoRequestSchema, { parent: uid.slice(0, 40), repo: { name: "library/nginx" } }],
    [
      "a repo",
      RepoSchema,
      { name: "library/nginx", description: "One line", bundles: ["base"], aliases: ["nginx:latest"] },
    ],
  ])("%s", (_, schema, init) => {
    expect(surelyKeepsRules(schema, create(schema, init))).toBe(true);
  });
});

test.each<[string, DescMessage, Record<string, unknown>]>([
  ["a negative page size", ListReposRequestSchema, { pageSize: -1 }],
  ["a malformed uid", ListReposRequestSchema, { uidp: { descendantsOf: "a" } }],
  ["one malformed uid of several", ListReposRequestSchema, { uidp: { ids: [uid, "a"] } }],
  ["too many uids", ListReposRequestSchema, { uidp: { ids: Array(1001).fill(uid) } }],
  ["a name that is missing", RepoSchema, {}],
  ["a name that is too long", RepoSchema, { name: "a".repeat(256) }],
  ["a bundle that does not exist", RepoSchema, { name: "nginx", bundles: ["base", "bass"] }],
  ["a tier that does not exist", RepoSchema, { name: "nginx", catalogTier: 99 }],
  ["a source that is missing", RepoSchema, { name: "nginx", syncConfig: {} }],
])("%s is left to the library", (_, schema, init) => {
  expect(surelyKeepsRules(schema, create(schema, init))).toBe(false);
  expect(isValid(schema, create(schema, init))).toBe(false);
});

test("fields whose rules it does not know are left to the library where they are set", () => {
  const unknown = contractTypes
    .flatMap(({ fields }) => fields)
    .filter((field) => getOption(field, fieldOption).required);
  expect(unknown.length).toBeGreaterThan(0);
  for (const { parent } of unknown) expect(surelyKeepsRules(parent, create(parent))).toBe(false);
});
