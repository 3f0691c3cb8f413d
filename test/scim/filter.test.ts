/** Filters, with the examples of RFC 7644, section 3.4.2.2. */
import { describe, expect, test } from "vitest";
import { ScimError } from "../../src/scim/errors.ts";
import { meets, parseFilter, parsePath } from "../../src/scim/filter.ts";
import { lookupIn } from "../../src/scim/lookup.ts";
import { resourceTypes } from "../../src/scim/schemas.ts";

const [user] = resourceTypes;
const lookup = lookupIn(user!);
const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

const jane = {
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  id: "2819c223",
  externalId: "Ext-1",
  userName: "bjensen@example.com",
  name: { familyName: "O'Malley", givenName: "Jane" },
  title: 'Vice "President"',
  userType: "Employee",
  active: true,
  emails: [
    { value: "jane@example.com", type: "work", primary: true },
    { value: "jane@home.example", type: "home" },
  ],
  meta: { lastModified: "2026-05-13T04:42:34Z" },
  [enterprise]: { department: "Sales", manager: { value: "7" } },
};

describe("a filter", () => {
  test.each<[string, boolean]>([
    ['userName eq "bjensen@example.com"', true],
    ['USERNAME Eq "BJENSEN@example.com"', true],
    ['externalId eq "ext-1"', false],
    ['externalId eq "Ext-1"', true],
    ['name.familyName co "O\'Malley"', true],
    ['userName sw "b"', true],
    ['userName ew ".com"', true],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName sw "J"', false],
    ["title pr", true],
    ["nickName pr", false],
    ['title eq "Vice \\"President\\""', true],
    ['meta.lastModified gt "2011-05-13T04:42:34Z"', true],
    ['meta.lastModified le "2011-05-13T04:42:34Z"', false],
    ['title pr and userType eq "Employee"', true],
    ['title pr or userType eq "Intern"', true],
    ['userType eq "Intern" or userType eq "Employee" and active eq false', false],
    ['(userType eq "Intern" or userType eq "Employee") and active eq true', true],
    ['userType eq "Employee" and (emails co "example.org" or emails.value co "home.example")', true],
    ['userType ne "Employee" and not (emails co "example.com")', false],
    ['not (userType eq "Intern")', true],
    ['emails[type eq "work" and value co "@example.com"]', true],
    ['emails[type eq "home" and primary eq true]', false],
    [`${enterprise}:department eq "sales"`, true],
    [`${enterprise}:manager.value eq "7"`, true],
    ["nickName eq null", true],
    ["title ne null", true],
    ['active eq "true"', false],
    ['nope eq "x"', false],
    ['active eq "True"', true],
    ['emails[type eq "work"].value eq "JANE@example.com"', true],
    ['emails[type eq "work"].value eq "jane@home.example"', false],
    ['emails[type eq "home"].value eq "jane@home.example" and active eq true', true],
    ['emails[primary eq "True"].value sw "jane"', true],
    ['emails[type eq "work"].display pr', false],
    ['emails[type eq "work"].value pr', true],
    ['not (emails[type eq "work"].value eq "x")', true],
  ])("%s: %s", (text, expected) => {
    expect(meets(jane, parseFilter(text), lookup)).toBe(expected);
  });

  test.each([
    "",
    "userName",
    "userName eq",
    'userName is "a"',
    '(userName eq "a"',
    'userName eq "a" and',
    'userName eq "a" "b"',
    'emails[type eq "a"',
    "userName eq 'a'",
    'not userName eq "a"',
    "(".repeat(100),
    "userName eq constructor",
    "userName eq __proto__",
    'emails[type eq "a"].value',
    'emails[type eq "a"] .value eq "b"',
    'emails[type eq "a"]. eq "b"',
  ])("%j is malformed", (text) => {
    expect(() => parseFilter(text)).toThrow(ScimError);
  });

  test("has at most 20 comparisons, negations and filters of values", () => {
    const terms = (count: number) => Array.from({ length: count }, () => 'title eq "a"').join(" or ");
    expect(meets(jane, parseFilter(`${terms(19)} or title pr`), lookup)).toBe(true);
    for (const text of [terms(21), `emails[${terms(20)}]`, "not (".repeat(20) + terms(1) + ")".repeat(20)])
      expect(() => parseFilter(text)).toThrow("comparisons");
    expect(() => parsePath(`emails[${terms(21)}]`)).toThrow("comparisons");
  });

  test("is in at most 19 parentheses, each of which counts", () => {
    const within = (depth: number) => `${"(".repeat(depth)}title pr${")".repeat(depth)}`;
    expect(meets(jane, parseFilter(within(19)), lookup)).toBe(true);
    expect(() => parseFilter(within(20))).toThrow("comparisons");
    expect(() => parsePath(`emails[${within(20)}]`)).toThrow("comparisons");
  });

  test("that is long is refused", () => {
    expect(() => parseFilter(`title eq "${"é".repeat(600)}"`)).toThrow("longer");
    expect(() => parseFilter(`userName eq "${"a".repeat(10_000)}"`)).toThrow("longer");
  });
});

test.each([
  ["userName", { attribute: "userName", filter: undefined, subAttribute: undefined }],
  ["name.givenName", { attribute: "name", filter: undefined, subAttribute: "givenName" }],
  [`${enterprise}:manager.value`, { attribute: `${enterprise}:manager`, filter: undefined, subAttribute: "value" }],
])("the path %s", (text, path) => {
  expect(parsePath(text)).toEqual(path);
});

test("a path with a filter", () => {
  expect(parsePath('emails[type eq "work"].value')).toMatchObject({
    attribute: "emails",
    filter: { kind: "compare", path: "type", operator: "eq", value: "work" },
    subAttribute: "value",
  });
  expect(parsePath('members[value eq "1"]')).toMatchObject({ attribute: "members", subAttribute: undefined });
  expect(() => parsePath('emails[type eq "work"]value')).toThrow(ScimError);
});
