/** What a list asks for, and which attributes a request wants. */
import { describe, expect, test } from "vitest";
import { ScimError } from "../../src/scim/errors.ts";
import { parametersOf, readProjection, readQuery } from "../../src/scim/query.ts";
import { resourceTypes } from "../../src/scim/schemas.ts";

const [user, group] = resourceTypes;
const core = "urn:ietf:params:scim:schemas:core:2.0:User";
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const jane = {
  schemas: [core],
  id: "1",
  userName: "jane",
  name: { givenName: "Jane", familyName: "Doe" },
  emails: [{ value: "a", type: "work" }, { type: "home" }],
  [enterprise]: { department: "Sales", manager: { value: "7" } },
  meta: { version: "1" },
};

describe("attributes", () => {
  const { schemas, id, meta, ...others } = jane;
  test.each<[Record<string, unknown>, object]>([
    [{}, jane],
    [{ attributes: "userName" }, { schemas, id, userName: "jane" }],
    [{ attributes: ["USERNAME", `${core}:meta`] }, { schemas, id, userName: "jane", meta }],
    [
      { attributes: "name.familyName,emails.type" },
      { schemas, id, name: { familyName: "Doe" }, emails: [{ type: "work" }, { type: "home" }] },
    ],
    [{ attributes: "name.familyName, name" }, { schemas, id, name: jane.name }],
    [{ attributes: "name,name.familyName" }, { schemas, id, name: jane.name }],
    [{ attributes: `${enterprise}:department` }, { schemas, id, [enterprise]: { department: "Sales" } }],
    [{ attributes: enterprise }, { schemas, id, [enterprise]: jane[enterprise] }],
    [{ attributes: `${enterprise}:nope` }, { schemas, id }],
    [{ attributes: "__proto__,constructor" }, { schemas, id }],
    [
      { excludedAttributes: "meta,id,emails" },
      { schemas, id, userName: "jane", name: jane.name, [enterprise]: jane[enterprise] },
    ],
    [
      { excludedAttributes: `name.givenName,meta,${enterprise}` },
      { schemas, id, userName: "jane", name: { familyName: "Doe" }, emails: jane.emails },
    ],
    [{ excludedAttributes: "" }, { schemas, id, meta, ...others }],
  ])("%j", (body, shown) => {
    expect(readProjection(parametersOf(body), user!).of(jane)).toEqual(shown);
  });

  test("that are not shown by default are shown if they are named", () => {
    const shows = (body: object) => readProjection(parametersOf(body), group!).shows("members", false);
    expect([{}, { attributes: "members" }, { attributes: "members.value" }, { attributes: "id" }].map(shows)).toEqual([
      false,
      true,
      true,
      false,
    ]);
    const single = (body: object) => readProjection(parametersOf(body), group!).shows("members", true);
    expect([{}, { excludedAttributes: "members" }, { excludedAttributes: "displayName" }].map(single)).toEqual([
      true,
      false,
      true,
    ]);
  });

  test.each([{}, 7, true, [7], [["a"]], "a,".repeat(101), Array.from({ length: 101 }, () => "a")])(
    "%j are refused",
    (attributes) => {
      for (const name of ["attributes", "excludedAttributes"])
        expect(() => readProjection(parametersOf({ [name]: attributes }), user!)).toThrow(ScimError);
    },
  );
});

describe("a query", () => {
  test("has bounds", () => {
    expect(readQuery(parametersOf({}))).toEqual({ startIndex: 1, count: 100, filter: undefined });
    expect(readQuery(parametersOf({ startIndex: -5, count: 1e9, filter: "" }))).toMatchObject({
      startIndex: 1,
      count: 200,
    });
    expect(readQuery(parametersOf({ startIndex: "7", count: -1, filter: null }))).toMatchObject({
      startIndex: 7,
      count: 0,
    });
  });

  test.each([
    { startIndex: "x" },
    { startIndex: {} },
    { startIndex: 1.5 },
    { startIndex: "1".repeat(50) },
    { count: [1] },
    { count: true },
    { filter: {} },
    { filter: ["userName pr"] },
    { filter: 7 },
  ])("%j is refused", (body) => {
    expect(() => readQuery(parametersOf(body))).toThrow(ScimError);
  });

  test.each([undefined, null, 7, "x", []])("the body %j is refused", (body) => {
    expect(() => parametersOf(body)).toThrow(ScimError);
  });
});
