/** What a PATCH does to the members of a group, without knowing them, against the same on a list of them. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ScimError } from "../../src/scim/errors.ts";
import { separateMembers } from "../../src/scim/members.ts";
import { operationsOf } from "../../src/scim/operations.ts";
import { applyOperations } from "../../src/scim/patch.ts";
import { resourceTypes } from "../../src/scim/schemas.ts";

const group = resourceTypes[1]!;
const id = fc.constantFrom("1", "2", "3", "4", "5");
const values = fc.array(id, { maxLength: 4 }).map((ids) => ids.map((value) => ({ value })));
const members = fc.constantFrom("members", "MEMBERS", "urn:ietf:params:scim:schemas:core:2.0:Group:members");
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom("add", "Add", "replace", "remove"), path: members, value: values }),
  fc.record({ op: fc.constantFrom("add", "replace"), value: fc.record({ members: values, displayName: id }) }),
  fc.record({ op: fc.constant("remove"), path: id.map((each) => `members[value eq "${each}"]`) }),
  fc.record({ op: fc.constant("remove"), path: members }),
  fc.record({ op: fc.constant("replace"), path: fc.constant("displayName"), value: id }),
);

test("members end as they do on a list", () => {
  fc.assert(
    fc.property(fc.uniqueArray(id), fc.array(operation, { minLength: 1, maxLength: 8 }), (before, Operations) => {
      const operations = operationsOf({ Operations });
      const resource = { displayName: "g", members: before.map((value) => ({ value })) };
      const expected = applyOperations(group, resource, operations);
      const { change, others } = separateMembers(group, operations)!;
      const kept = before.filter((each) => !change.isWhole && !change.removed.has(each));
      const ids = ((expected.members ?? []) as { value: string }[]).map(({ value }) => value);
      expect([...new Set([...kept, ...change.added])].sort()).toEqual([...new Set(ids)].sort());
      const { members: _, ...rest } = expected;
      expect(applyOperations(group, { displayName: "g" }, others)).toEqual(rest);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  { op: "remove", path: 'members[type eq "User"]' },
  { op: "remove", path: 'members[value eq "1" or value eq "2"]' },
  { op: "add", path: 'members[value eq "1"].type', value: "User" },
])("%j depends on what the members are", (operation) => {
  expect(separateMembers(group, operationsOf({ Operations: [operation] }))).toBeUndefined();
});

test("there are not more than 10,000 of them in a request", () => {
  const part = (from: number) => ({
    op: "add",
    path: "members",
    value: Array.from({ length: 6000 }, (_, i) => ({ value: `${from + i}` })),
  });
  const separate = (...Operations: object[]) => separateMembers(group, operationsOf({ Operations }));
  expect(separate(part(0), part(0))!.change.added.size).toBe(6000);
  expect(() => separate(part(0), part(6000))).toThrow("values");
});

test.each([
  { op: "add", path: "members", value: [{ type: "User" }] },
  { op: "add", path: "members", value: 7 },
])("%j is refused", (operation) => {
  expect(() => separateMembers(group, operationsOf({ Operations: [operation] }))).toThrow(ScimError);
});
