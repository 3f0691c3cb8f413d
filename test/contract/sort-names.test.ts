/** The comment of each `order_by` says what its list does: users, the OpenAPI document and the console read it. */
import { expect, test } from "vitest";
import { commentOf } from "../../src/openapi/comments.ts";
import { contractRegistry } from "../../src/remote/catalog/descriptors.ts";
import type { Resource } from "../../src/resource/index.ts";
import { expectNoFaults } from "../faults.ts";
import { services } from "../services/served.ts";
import { protoFile } from "./generated.ts";

const listed = [...new Set(services.flatMap(({ resources }) => resources))].filter(
  ({ declaration: { list } }) => list !== undefined && "orderBy" in list.field,
);
/** Older names of the times. */
const aliases = { created_at: "create_time", updated_at: "update_time" };

test.each(listed.map((resource) => [resource.declaration.list!.name, resource] as const))("%s", (_name, resource) => {
  const { list } = resource.declaration;
  const comment = commentOf(contractRegistry().getMessage(list!.typeName)!.field.orderBy!).replaceAll("\n", " ");
  const place = `${protoFile(list!)}: the comment of ${list!.name}.order_by`;
  const declared = Object.keys(resource.sortNames).filter((name) => !Object.hasOwn(aliases, name));
  const told = namesIn(/^What to sort by: (?:any of )?((?:`\w+`(?:, )?)+)/.exec(comment)?.[1]);
  const order = defaultOrderOf(resource);
  expectNoFaults([
    ...declared.filter((name) => !told.includes(name)).map((name) => `${place} does not list ${name}`),
    ...told
      .filter((name) => !declared.includes(name))
      .map(
        (name) => `${place} lists ${name}, which is not in sortNames of the declaration of ${resource.contract.kind}`,
      ),
    ...(comment.includes("`created_at` and `updated_at` stand for `create_time` and `update_time`.")
      ? []
      : [`${place} does not say what created_at and updated_at stand for`]),
    ...(comment.endsWith(`Default: \`${order}\`.`) ? [] : [`${place} does not end with: Default: \`${order}\`.`]),
  ]);
});

test("are those of every resource that a method lists", () => {
  expect(listed.length).toBeGreaterThan(15);
});

function namesIn(text = ""): string[] {
  return [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
}

/** The default order by its sort names: `version desc`. */
function defaultOrderOf({ defaultOrder, sortNames }: Resource): string {
  const nameOf = (column: string) =>
    Object.keys(sortNames).find((name) => sortNames[name] === column && !Object.hasOwn(aliases, name));
  return defaultOrder.map(({ column, descending }) => `${nameOf(column)} ${descending ? "desc" : "asc"}`).join(", ");
}
