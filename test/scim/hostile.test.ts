/** Whatever JSON comes, it is taken, or refused with an error of SCIM, and changes nothing else. */
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { ScimError } from "../../src/scim/errors.ts";
import { parseFilter, parsePath } from "../../src/scim/filter.ts";
import { limits } from "../../src/scim/limits.ts";
import { separateMembers } from "../../src/scim/members.ts";
import { operationsOf } from "../../src/scim/operations.ts";
import { applyOperations } from "../../src/scim/patch.ts";
import { parametersOf, readProjection, readQuery } from "../../src/scim/query.ts";
import { checkResource, readResource } from "../../src/scim/resource.ts";
import { resourceTypes } from "../../src/scim/schemas.ts";
import { filter, json, path, request } from "./hostile.ts";

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
      const after = attempt(() => applyOperations(type, before, operationsOf(body))) as
        | Record<string, unknown>
        | undefined;
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
