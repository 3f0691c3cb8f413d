/** PATCH, with the examples of RFC 7644, section 3.5.2, and what Entra ID and Okta send. */
import { describe, expect, test } from "vitest";
import { ScimError } from "../../src/scim/errors.ts";
import { operationsOf } from "../../src/scim/operations.ts";
import { applyOperations } from "../../src/scim/patch.ts";
import type { Json } from "../../src/scim/resource.ts";
import { type ResourceType, resourceTypes } from "../../src/scim/schemas.ts";

const [user, group] = resourceTypes;
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const work = { value: "w@example.com", type: "work", primary: true };
const home = { value: "h@example.com", type: "home" };
const jane = { userName: "jane", active: true, name: { givenName: "Jane", familyName: "Doe" }, emails: [work, home] };

const applyPatch = (type: ResourceType, before: Json, request: unknown) =>
  applyOperations(type, before, operationsOf(request));
const patch = (before: object, ...Operations: object[]) => applyPatch(user!, before as never, { Operations });

describe("an operation", () => {
  test.each<[string, object, object]>([
    ["adds an attribute", { op: "add", path: "nickName", value: "J" }, { ...jane, nickName: "J" }],
    [
      "adds without a path",
      { op: "Add", value: { nickName: "J", active: false } },
      { ...jane, nickName: "J", active: false },
    ],
    [
      "adds by names with dots",
      { op: "add", value: { "name.middleName": "M" } },
      { ...jane, name: { ...jane.name, middleName: "M" } },
    ],
    [
      "adds a value",
      { op: "add", path: "emails", value: [{ value: "x", type: "other" }] },
      { ...jane, emails: [work, home, { value: "x", type: "other" }] },
    ],
    ["adds no value twice", { op: "add", path: "emails", value: [{ ...home }] }, jane],
    [
      "adds a preferred value",
      { op: "add", path: "emails", value: { value: "x", primary: true } },
      { ...jane, emails: [{ ...work, primary: false }, home, { value: "x", primary: true }] },
    ],
    [
      "adds to an extension",
      { op: "add", path: `${enterprise}:department`, value: "Sales" },
      { ...jane, [enterprise]: { department: "Sales" } },
    ],
    [
      "adds an extension",
      { op: "add", value: { [enterprise]: { department: "Sales" } } },
      { ...jane, [enterprise]: { department: "Sales" } },
    ],
    [
      "adds to an extension as a whole",
      { op: "add", path: enterprise, value: { department: "Sales" } },
      { ...jane, [enterprise]: { department: "Sales" } },
    ],
    ["replaces an attribute", { op: "replace", path: "userName", value: "john" }, { ...jane, userName: "john" }],
    [
      "replaces a text that is true or false",
      { op: "Replace", path: "active", value: "False" },
      { ...jane, active: false },
    ],
    [
      "replaces a part",
      { op: "replace", path: "name.givenName", value: "J" },
      { ...jane, name: { givenName: "J", familyName: "Doe" } },
    ],
    [
      "replaces parts and keeps others",
      { op: "replace", path: "name", value: { givenName: "J" } },
      { ...jane, name: { givenName: "J", familyName: "Doe" } },
    ],
    ["replaces all values", { op: "replace", path: "emails", value: [home] }, { ...jane, emails: [home] }],
    [
      "replaces a part of some values",
      { op: "replace", path: 'emails[type eq "home"].value', value: "x" },
      { ...jane, emails: [work, { ...home, value: "x" }] },
    ],
    [
      "makes a value that its filter describes",
      { op: "replace", path: 'emails[type eq "other"].value', value: "x" },
      { ...jane, emails: [work, home, { type: "other", value: "x" }] },
    ],
    [
      "makes a value that several equalities describe",
      { op: "Add", path: 'emails[type eq "other" and primary eq "True"].value', value: "x" },
      { ...jane, emails: [{ ...work, primary: false }, home, { type: "other", primary: true, value: "x" }] },
    ],
    [
      "makes the first value of an attribute",
      { op: "Replace", path: 'phoneNumbers[type eq "mobile"].value', value: "1" },
      { ...jane, phoneNumbers: [{ type: "mobile", value: "1" }] },
    ],
    [
      "finds a preferred value by a text that is true",
      { op: "replace", path: 'emails[primary eq "True"].value', value: "x" },
      { ...jane, emails: [{ ...work, value: "x" }, home] },
    ],
    [
      "knows attributes by their URN",
      { op: "replace", value: { "urn:ietf:params:scim:schemas:core:2.0:User:name.familyName": "D", NICKNAME: "J" } },
      { ...jane, name: { ...jane.name, familyName: "D" }, nickName: "J" },
    ],
    [
      "knows a part of an extension",
      { op: "add", path: `${enterprise}:manager.value`, value: "7" },
      { ...jane, [enterprise]: { manager: { value: "7" } } },
    ],
    [
      "takes the manager's id alone",
      { op: "add", path: `${enterprise}:manager`, value: "7" },
      { ...jane, [enterprise]: { manager: { value: "7" } } },
    ],
    [
      "takes an extension by dotted names",
      { op: "add", value: { [`${enterprise}:department`]: "Sales", "emails.display": "d" } },
      {
        ...jane,
        emails: [
          { ...work, display: "d" },
          { ...home, display: "d" },
        ],
        [enterprise]: { department: "Sales" },
      },
    ],
    [
      "leaves out attributes that do not exist, and what is read only, where there is no path",
      { op: "replace", value: { nope: 1, id: "x", schemas: ["y"], __proto__: 1, "groups.value": "z", nickName: "J" } },
      { ...jane, nickName: "J" },
    ],
    ["removes no value where it names none", { op: "remove", path: "emails", value: [] }, jane],
    [
      "removes a value that it names",
      { op: "remove", path: "emails", value: [{ value: home.value }] },
      { ...jane, emails: [work] },
    ],
    ["removes an attribute", { op: "remove", path: "name" }, { userName: "jane", active: true, emails: [work, home] }],
    ["removes a part", { op: "remove", path: "name.givenName" }, { ...jane, name: { familyName: "Doe" } }],
    [
      "removes some values",
      { op: "remove", path: 'emails[type eq "work" and value ew "example.com"]' },
      { ...jane, emails: [home] },
    ],
    [
      "replaces by nothing",
      { op: "replace", path: "emails", value: [] },
      { userName: "jane", active: true, name: jane.name },
    ],
  ])("%s", (_, operation, after) => {
    const before = structuredClone(jane);
    expect(patch(before, operation)).toEqual(after);
    expect(before).toEqual(jane);
  });

  test.each<[object, string]>([
    [{ op: "move", path: "name" }, "invalidSyntax"],
    [{ op: {} }, "invalidSyntax"],
    [{ op: ["add"], path: "title", value: "x" }, "invalidSyntax"],
    [{ op: { toString: 1 }, path: "title" }, "invalidSyntax"],
    [{ path: "title", value: "x" }, "invalidSyntax"],
    [{ op: "add", path: {}, value: "x" }, "invalidPath"],
    [{ op: "add", path: "title", value: 7 }, "invalidValue"],
    [{ op: "add", path: "title", value: { toString: 1 } }, "invalidValue"],
    [{ op: "add", path: "name", value: "x" }, "invalidSyntax"],
    [{ op: "add", path: "__proto__.polluted", value: "x" }, "invalidPath"],
    [{ op: "add", path: 'emails[__proto__ eq "x"].constructor', value: "x" }, "invalidPath"],
    [{ op: "replace", path: 'emails[type eq "fax"]', value: { value: "x" } }, "noTarget"],
    [{ op: "add", path: "emails[type pr]", value: [{ value: "x" }, { value: "y" }] }, "invalidValue"],
    [{ op: "add", path: enterprise, value: "x" }, "invalidValue"],
    [{ op: "add", path: "emails", value: Array.from({ length: 201 }, (_, i) => ({ value: `${i}` })) }, "tooMany"],
    [{ op: "remove" }, "noTarget"],
    [{ op: "remove", path: "userName" }, "mutability"],
    [{ op: "replace", path: "userName", value: null }, "invalidValue"],
    [{ op: "replace", path: "nope", value: "x" }, "invalidPath"],
    [{ op: "replace", path: "name.nope", value: "x" }, "invalidPath"],
    [{ op: "replace", path: "emails[", value: "x" }, "invalidPath"],
    [{ op: "replace", path: "id", value: "x" }, "mutability"],
    [{ op: "add", path: "groups", value: [{ value: "x" }] }, "mutability"],
    [{ op: "replace", path: 'emails[value co "nope"].value', value: "x" }, "noTarget"],
    [{ op: "replace", path: "active", value: "perhaps" }, "invalidValue"],
    [{ op: "add", value: "x" }, "invalidValue"],
  ])("%j is %s", (operation, scimType) => {
    expect(() => patch(jane, operation)).toThrow(expect.objectContaining({ scimType }) as ScimError);
  });
});

test("operations follow one another, and none is applied when one fails", () => {
  const before = structuredClone(jane);
  const first = { op: "replace", path: "userName", value: "john" };
  expect(patch(before, first, { op: "add", path: "nickName", value: "J" })).toMatchObject({
    userName: "john",
    nickName: "J",
  });
  expect(() => patch(before, first, { op: "remove", path: "userName" })).toThrow(ScimError);
  expect(before).toEqual(jane);
  const odd = [{ Operations: {} }, { Operations: [[]] }, { Operations: [null] }, { schemas: 7, Operations: [first] }];
  for (const request of [undefined, null, 7, [], {}, { Operations: [] }, { Operations: "x" }, ...odd])
    expect(() => applyPatch(user!, jane as never, request)).toThrow(ScimError);
});

test("members are added and removed one by one", () => {
  const before = { displayName: "g", members: [{ value: "1" }, { value: "2" }] };
  const members = (...Operations: object[]) => applyPatch(group!, before as never, { Operations }).members;
  expect(members({ op: "add", path: "members", value: [{ value: "3" }] })).toEqual([
    { value: "1" },
    { value: "2" },
    { value: "3" },
  ]);
  expect(members({ op: "remove", path: 'members[value eq "1"]' })).toEqual([{ value: "2" }]);
  expect(members({ op: "Remove", path: "members", value: [{ value: "2" }] })).toEqual([{ value: "1" }]);
  expect(members({ op: "remove", path: "members" })).toBeUndefined();
});

describe("the work of a request is bounded", () => {
  const values = Array.from({ length: 200 }, (_, i) => ({ value: `${i}` }));
  const before = { userName: "jane", emails: values };
  const run = (count: number, operation: object) =>
    applyPatch(user!, before, { Operations: Array.from({ length: count }, () => operation) });
  const terms = (count: number) => Array.from({ length: count }, () => 'value eq "y"').join(" or ");

  test.each<[string, object]>([
    ["filters", { op: "remove", path: `emails[${terms(10)}].type` }],
    ["values that are added", { op: "add", path: "emails", value: values.slice(0, 20) }],
    ["parts that are set", { op: "replace", path: "emails.display", value: "x".repeat(200) }],
  ])("%s", (_, operation) => {
    expect(run(1, operation)).toBeDefined();
    expect(() => run(1000, operation)).toThrow(expect.objectContaining({ scimType: "tooMany" }) as ScimError);
  });

  test("a thousand operations on few values are none too many, one more is", () => {
    const few = { ...before, emails: values.slice(0, 5) };
    const operation = { op: "remove", path: `emails[${terms(5)}].type` };
    const operations = Array.from({ length: 1000 }, () => operation);
    expect(applyPatch(user!, few, { Operations: operations })).toEqual(few);
    expect(() => applyPatch(user!, few, { Operations: [...operations, operation] })).toThrow("operations");
  });

  test("values stay within their limit, however they are added", () => {
    expect(() => run(1, { op: "add", path: "emails", value: { value: "more" } })).toThrow("values");
    expect(() => run(1, { op: "add", path: 'emails[type eq "more"].value', value: "more" })).toThrow("values");
  });
});

test("a value is known by its value and type, or as a whole", () => {
  const added = (emails: object[], ...more: object[]) =>
    applyPatch(user!, { userName: "j", emails } as never, { Operations: [{ op: "add", path: "emails", value: more }] })
      .emails;
  const [a, b] = [
    { value: "x", type: "a" },
    { value: "x", type: "b" },
  ];
  expect(added([a], b)).toEqual([a, b]);
  expect(added([a], { value: "x", display: "d" })).toEqual([{ ...a, display: "d" }]);
  expect(added([{ value: "x" }], a)).toEqual([a]);
  expect(added([{ display: "d" }], { display: "d" }, { display: "e" })).toEqual([{ display: "d" }, { display: "e" }]);
  expect(added([{ ...a, primary: true }], { ...b, primary: true })).toEqual([
    { ...a, primary: false },
    { ...b, primary: true },
  ]);
});
