/** What the console reads from the contract, for every resource. */
import { expect, test } from "vitest";
import { orderFields } from "../../console/src/list/search.ts";
import { callTexts } from "../../console/src/view/call-text.ts";
import { contractCatalog } from "../../src/remote/catalog/contract.ts";

const lists = contractCatalog().resources.flatMap(({ plural, schema, methods: { List } }) =>
  List === undefined ? [] : [{ plural, schema, List }],
);

test.each(lists)("$plural: the columns that can be ordered are fields of it", ({ schema, List }) => {
  const names = [...orderFields(List)];
  expect(names).toEqual(expect.arrayContaining(["uid", "create_time", "update_time"]));
  expect(names.filter((name) => !schema.fields.some((field) => field.name === name))).toEqual([]);
});

test("a call as commands and as TypeScript", () => {
  const { methods } = contractCatalog().resources.find(({ plural }) => plural === "group-invites")!;
  const [curl, buf, typescript] = callTexts("http://127.0.0.1:8080", methods.Get!, { uid: "it's" });
  expect(curl).toEqual({
    program: "curl",
    text: `curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"uid":"it'\\''s"}' \\
  http://127.0.0.1:8080/platform.iam.v2.GroupInvitesService/GetGroupInvite`,
  });
  expect(buf!.text).toMatch(/^buf curl --http2-prior-knowledge -H /);
  expect(typescript!.text).toContain(`await client.groupInvites.get({"uid":"it's"})`);
});
