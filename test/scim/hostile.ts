/** Requests of hostile clients: names of attributes, filters, paths and JSON, often near to what is right. */
import fc from "fast-check";
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
export const { filter, path } = fc.letrec<{ filter: string; path: string }>((tie) => ({
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
export const json = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
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
export const request = fc.oneof(
  fc.record({ Operations: fc.array(operation, { maxLength: 6 }) }),
  fc.record({ schemas: json.value, operations: fc.oneof(fc.array(operation), json.value) }),
  json.value,
);
