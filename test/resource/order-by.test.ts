import { describe, expect, it } from "vitest";
import { canonicalOrder, commonSortNames, parseOrderBy } from "../../src/resource/order-by.ts";

const names = { name: "name", ...commonSortNames };
const parse = (text: string) => canonicalOrder(parseOrderBy(text, names, [{ column: "uid", descending: false }]));

describe("parseOrderBy", () => {
  it.each([
    ["", "uid asc"],
    ["  ", "uid asc"],
    ["name", "name asc"],
    ["name desc", "name desc"],
    ["name  DESC", "name desc"],
    ["created_at asc", "create_time_us asc"],
    ["createTime desc", "create_time_us desc"],
    ["update_time,name desc", "update_time_us asc,name desc"],
    [" uid desc ", "uid desc"],
  ])("%j is %s", (text, expected) => expect(parse(text)).toBe(expected));

  it.each([
    "nope",
    "name up",
    "name asc desc",
    "name,",
    ",",
    "name,name desc",
    "created_at,create_time",
    "toString",
    "name;drop",
  ])("refuses %j on order_by", (text) => expect(() => parse(text)).toThrow(/order_by: /));
});
