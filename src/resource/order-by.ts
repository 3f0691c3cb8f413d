/** `order_by` (AIP-132): comma-separated fields, each optionally followed by `asc` or `desc`. */
import { snakeCase } from "../codec/index.ts";
import { invalid } from "../errors.ts";

/** One column of an order. */
export interface OrderColumn<C extends string = string> {
  readonly column: C;
  readonly descending: boolean;
}

/** The sort names of every resource with their columns, in the spellings of the old column and of the field. */
export const commonSortNames = {
  uid: "uid",
  created_at: "create_time_us",
  create_time: "create_time_us",
  updated_at: "update_time_us",
  update_time: "update_time_us",
} as const;

/**
 * Parses `text`, whose names are those of proto files or of JSON, `create_time` or `createTime`; "" is `byDefault`.
 * Errors: INVALID_ARGUMENT on `order_by`.
 */
export function parseOrderBy(
  text: string,
  sortNames: Readonly<Record<string, string>>,
  byDefault: readonly OrderColumn[],
): readonly OrderColumn[] {
  if (text.trim() === "") return byDefault;
  const columns = text.split(",").map((part): OrderColumn => {
    const [name = "", direction = "asc", ...rest] = part.trim().split(/[ \t]+/);
    const column = Object.hasOwn(sortNames, snakeCase(name)) ? sortNames[snakeCase(name)] : undefined;
    if (column === undefined)
      throw refuse(`${JSON.stringify(name)} is not one of ${Object.keys(sortNames).join(", ")}`);
    if (rest.length > 0 || !/^(asc|desc)$/i.test(direction))
      throw refuse(`${JSON.stringify(part.trim())} must be a field, then asc or desc`);
    return { column, descending: direction.toLowerCase() === "desc" };
  });
  if (new Set(columns.map(({ column }) => column)).size < columns.length) throw refuse("names a field twice");
  return columns;
}

/** The canonical spelling of an order, to compare two: `name desc,uid asc`. */
export function canonicalOrder(columns: readonly OrderColumn[]): string {
  return columns.map(({ column, descending }) => `${column} ${descending ? "desc" : "asc"}`).join(",");
}

function refuse(description: string) {
  return invalid({ field: "order_by", description });
}
