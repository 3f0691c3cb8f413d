/** Whatever JSON comes, it is taken, or refused with an error of SCIM, and changes nothing else. */
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { ScimError } from "../../src/scim/errors.ts";
import { parseFilter, parsePath } from "../../src/scim/filter.ts";
import { limits } from "../../src/scim/limits.ts";
import { separateMembers } from "../../src/scim/members.ts";
import { operationsOf } from "../../src/scim/operations.ts";
import { applyPatch } from "../../src/scim/patch.ts";
import { parametersOf, readProjection, readQuery } from "../../src/scim/query.ts";
import { checkResource, readResource } from "../../src/scim/resource.ts";
import { resourceTypes } from "../../src/scim/schemas.ts";

const enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const names = resourceTypes.flatMap(({ attributes, schema, extension }) => [
  schema.id,
  extension?.id ?? "",
  ...[...attributes, ...(extension?.attributes ?? [])].flatMap(({ name, subAttributes = [] }) => [
    name,
    name.toUpperCase(),
    `${schema.id}:${name}`,
    `${enterprise}:${name}`,
    ...subAttributes.flatMap((sub) => [sub.name, `${name}.${sub.name}`]),
  ]),
]);
const odd = ["__proto__", "constructor", "toString", "", ".", ":", "a.b.c", "emails[", "schemas", "Operations"];
const name = fc.oneof(fc.constantFrom(...names), fc.constantFrom(...odd), fc.string({ maxLength: 8 }));
const literal = fc.constantFrom('"work"', '"True"', "true", "null", "7", "constructor", '"\\ud800"');
const operator = fc.constantFrom("eq", "NE", "co", "sw", "ew", "gt", "ge", "lt", "le", "is");
const { filter, path } = fc.letrec<{ filter: string; path: string }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4, depthIdentifier: "filter" },
    fc.tuple(name, operator, literal).map((words) => words.join(" ")),
    fc.tuple(name, tie("filter")).map(([attribute, inner]) => `${attribute}[${inner}]`),
    fc.tuple(name, tie("filter"), name).map(([each, inner, sub]) => `${each}[${inner}].${sub} eq "x"`),
    fc.tuple(tie("filter"), fc.constantFrom("and", "or"), tie("filter")).map((words) => words.join(" ")),
    tie("filter").map((inner) => `not (${inner})`),
  ),
  path: fc.oneof(
    name,
    fc.tuple(name, tie("filter")).map(([attribute, inner]) => `${attribute}[${inner}]`),
    fc.tuple(name, tie("filter"), name).map(([attribute, inner, sub]) => `${attribute}[${inner}].${sub}`),
  ),
}));
/** JSON whose members are often those of resources. `JSON.parse` gives objects an own `__proto__`. */
const json = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthIdentifier: "json" },
    fc.constantFrom(null, true, "True", "false", 7, 1e308, "", "x", "\0", "\ud800", "x".repeat(2000)),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("object"),
  ),
  object: fc.array(fc.tuple(name, tie("value")), { maxLength: 6 }).map((members) => {
    const text = members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join();
    return JSON.parse(`{${text}}`) as unknown;
  }),
}));
const op = fc.oneof(fc.constantFrom("add", "Replace", "REMOVE"), json.value);
const operation = fc.oneof(
  fc.record({ op, path: fc.oneof(path, json.value), value: json.value }),
  fc.record({ op, value: json.value }),
  json.value,
);
const request = fc.oneof(
  fc.record({ Operations: fc.array(operation, { maxLength: 6 }) }),
  fc.record({ schemas: json.value, operations: fc.oneof(fc.array(operation), json.value) }),
  json.value,
);

const prototype = JSON.stringify(Object.getOwnPropertyNames(Object.prototype));
afterEach(() => {
  expect(JSON.stringify(Object.getOwnPropertyNames(Object.prototype))).toBe(prototype);
});

/** Runs `work`, which may be refused. */
function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (error instanceof ScimError) return undefined;
    throw error;
  }
}

const numRuns = 3000;

test.each(resourceTypes.map((type) => [type.id, type] as const))("a %s", (_, type) => {
  fc.assert(
    fc.property(json.object, (body) => {
      const resource = attempt(() => readResource(type, body)) as Record<string, unknown> | undefined;
      if (resource === undefined) return;
      expect(readResource(type, structuredClone(resource))).toEqual(resource);
      attempt(() => checkResource(type, resource));
    }),
    { numRuns },
  );
});

test.each(resourceTypes.map((type) => [type.id, type] as const))("a PATCH of a %s", (_, type) => {
  const many = (value: string) => Array.from({ length: 3 }, (__, i) => ({ value: `${value}${i}`, type: "work" }));
  const before = { userName: "j", displayName: "d", emails: many("e"), members: many("m") };
  fc.assert(
    fc.property(request, (body) => {
      const kept = structuredClone(before);
      const after = attempt(() => applyPatch(type, before, body)) as Record<string, unknown> | undefined;
      expect(before).toEqual(kept);
      for (const value of Object.values(after ?? {}))
        if (Array.isArray(value)) expect(value.length).toBeLessThanOrEqual(limits.values);
      attempt(() => separateMembers(resourceTypes[1]!, operationsOf(body)));
    }),
    { numRuns },
  );
});

test("a filter, a path and a search", () => {
  fc.assert(
    fc.property(filter, path, json.object, (text, place, body) => {
      attempt(() => parseFilter(text));
      attempt(() => parsePath(place));
      const parameters = parametersOf(body);
      attempt(() => readQuery(parameters));
      attempt(() => readProjection(parameters, resourceTypes[0]!).of({ id: "1", userName: "j" }));
    }),
    { numRuns },
  );
});
