/** A filter that is given and empty matches nothing: a script whose variable is empty must not list everything. */
import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, test } from "vitest";
import { protoFile } from "../contract/generated.ts";
import { type Json, methods } from "./contract.ts";
import { advisory, importAdvisories, importDocuments, importMetadata } from "./feed-fixtures.ts";
import { freshName, makeGroup, makeRepo, makeTag } from "./fixtures.ts";
import { methodFixtures } from "./method-fixtures.ts";
import { fieldsOf } from "./outcome.ts";
import { onEveryServer } from "./platform.ts";

/** What is not a filter: paging, parts of a text, and what a list is of. */
const others =
  /^(page_token|order_by|query|images|artifact_id|scope|subscription|ListTermsAcceptances\.group|ListTagHistory\.uid)$/;
/** Filters by a uid, a method or a code: an empty one is malformed. */
const malformed = /^(identity_provider_uid|identity|group|role|caller|method|result|type)$/;

const isText = (field: DescField) =>
  (field.fieldKind === "scalar" || field.fieldKind === "list") && field.scalar === ScalarType.STRING;

const filters = [...methods.values()].flatMap((method) =>
  method.name.startsWith("List")
    ? method.input.fields
        .filter((field) => isText(field) && !others.test(field.name) && !others.test(`${method.name}.${field.name}`))
        .map((field) => ({ method: method.name, field }))
    : [],
);

test("every filter has presence, so that an empty one differs from none on the binary wire too", () => {
  expect(filters.length).toBeGreaterThan(25);
  for (const { method, field } of filters)
    expect(
      field.fieldKind === "list" || field.presence === FeatureSet_FieldPresence.EXPLICIT,
      `${method}.${field.name}`,
    ).toBe(true);
});

onEveryServer("an empty filter", (platform) => {
  let group: string;

  beforeAll(async () => {
    group = (await makeGroup(platform())).uid;
    const repo = await makeRepo(platform(), group);
    await makeTag(platform(), repo.uid);
    await importAdvisories(platform(), group, advisory({ legacyAdvisoryId: "" }));
    await importDocuments(platform(), { id: freshName("package") });
    await importMetadata(platform(), { id: freshName("CVE") });
  });

  describe.each(filters)("$method by $field.name", ({ method, field }) => {
    const needed = async (): Promise<Json> =>
      /^List(?:TermsAcceptances|Access|AuditRecords|Deliveries)$/.test(method)
        ? methodFixtures[method]!.request(platform(), group)
        : {};

    test("matches nothing, or is malformed", async () => {
      const request = { ...(await needed()), [field.jsonName]: field.fieldKind === "list" ? [""] : "" };
      if (malformed.test(field.name)) {
        const status = await platform().refused(method, request, "INVALID_ARGUMENT");
        expect(fieldsOf(status)).toEqual([field.name]);
      } else if (field.name.startsWith("exclude_")) {
        const all = await platform().read(method, {});
        expect((await platform().read(method, request)).totalCount).toBe(all.totalCount);
        expect(all.totalCount).not.toBe("0");
      } else {
        const { totalCount } = await platform().read(method, request);
        const mend = `the declaration must exclude "", and ${protoFile(field.parent)} make it optional`;
        expect(totalCount, `an empty ${field.name} of ${method} matches rows: ${mend}`).toBe("0");
      }
    });
  });

  test.each(["descendants_of", "children_of", "ancestors_of", "ids"])("uidp.%s is not a uid", async (name) => {
    const key = name.replace("_of", "Of");
    const status = await platform().refused(
      "ListRepos",
      { uidp: { [key]: name === "ids" ? [""] : "" } },
      "INVALID_ARGUMENT",
    );
    expect(fieldsOf(status)).toEqual([name === "ids" ? "uidp.ids[0]" : `uidp.${name}`]);
  });

  test("is none where the parameter is not there", async () => {
    expect((await platform().read("ListRepos", {})).totalCount).not.toBe("0");
  });
});
