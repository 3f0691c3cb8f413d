/** PATCH, with the examples of RFC 7644, section 3.5.2, and what Entra ID and Okta send. */
import { describe, expect, test } from "vitest";
import { ScimError } from "../../src/scim/errors.ts";
import { applyPatch } from "../../src/scim/patch.ts";
import { resourceTypes } from "../../src/scim/schemas.ts";

const [user, group] = resourceTypes;
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const work = { value: "w@example.com", type: "work", primary: true };
const home = { value: "h@example.com", type: "home" };
const jane = { userName: "jane", active: true, name: { givenName: "Jane", familyName: "Doe" }, emails: [work, home] };

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
  for (const request of [undefined, {}, { Operations: [] }, { Operations: "x" }])
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
