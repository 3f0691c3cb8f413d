import { expect, test } from "vitest";
import { Fields } from "../../../src/feeds/records/fields.ts";
import { FeedRefusal } from "../../../src/feeds/source/refusal.ts";

const record = (values: Record<string, unknown>) => new Fields({ list: [{ ...values }] }).objects("list", 1)[0]!;

test.each<[unknown, string]>([
  [undefined, "is not an object"],
  [null, "is not an object"],
  ["text", "is not an object"],
  [[], "is not an object"],
])("a record that is %o is refused", (value, reason) => {
  expect(() => new Fields(value)).toThrow(new FeedRefusal(reason));
});

test.each<[string, unknown, string | undefined | Error]>([
  ["text", "some", "some"],
  ["nothing", undefined, undefined],
  ["null", null, undefined],
  ["the greatest length", "12345", "12345"],
  ["more than the greatest length", "123456", new FeedRefusal("list[0].a: has 6 characters, more than 5")],
  ["a number", 1.1, new FeedRefusal("list[0].a: is not text")],
  ["a list", ["a"], new FeedRefusal("list[0].a: is not text")],
  ["NUL", "a\0b", new FeedRefusal("list[0].a: contains NUL or a lone surrogate")],
  ["half a character", "\ud83d", new FeedRefusal("list[0].a: contains NUL or a lone surrogate")],
])("text that is %s", (_, value, expected) => {
  const read = () => record({ a: value }).optionalText("a", 5);
  if (expected instanceof Error) expect(read).toThrow(expected);
  else expect(read()).toBe(expected);
});

test("a missing required field is refused with its path", () => {
  const fields = record({ empty: "", toString: undefined });
  expect(() => fields.text("a")).toThrow("list[0].a: is missing");
  expect(() => fields.text("empty")).toThrow("list[0].empty: is empty");
  expect(() => fields.object("a")).toThrow("list[0].a: is missing");
  expect(() => fields.timeMs("a")).toThrow("list[0].a: is missing");
  expect(() => fields.text("constructor")).toThrow("list[0].constructor: is missing");
  expect(() => new Fields({}).text("a")).toThrow(/^a: is missing$/);
});

test("the items and lengths of lists are checked", () => {
  const limits = { maxItems: 2, maxLength: 3 };
  expect(record({ a: ["x", "yyy"] }).texts("a", limits)).toEqual(["x", "yyy"]);
  expect(record({}).texts("a", limits)).toEqual([]);
  expect(record({ a: null }).objects("a", 2)).toEqual([]);
  expect(() => record({ a: "x" }).texts("a", limits)).toThrow("list[0].a: is not a list");
  expect(() => record({ a: ["x", 1] }).texts("a", limits)).toThrow("list[0].a[1]: is not text");
  expect(() => record({ a: ["x", "yyyy"] }).texts("a", limits)).toThrow("list[0].a[1]: has 4 characters, more than 3");
  expect(() => record({ a: ["", "", ""] }).texts("a", limits)).toThrow("list[0].a: has 3 items, more than 2");
  expect(() => record({ a: [{}, "x"] }).objects("a", 2)).toThrow("list[0].a[1]: is not an object");
});

test.each<[string, string | undefined]>([
  ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
  ["2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123Z"],
  ["2026-01-02T03:04:05.9Z", "2026-01-02T03:04:05.900Z"],
  ["2026-01-02t03:04:05z", "2026-01-02T03:04:05.000Z"],
  ["2026-01-02 03:04:05+02:00", "2026-01-02T01:04:05.000Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"],
  ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
  ["0000-12-31T23:59:59Z", undefined],
  ["0001-01-01T00:00:00+01:00", undefined],
  ["9999-12-31T23:59:59-01:00", undefined],
  ["10000-01-01T00:00:00Z", undefined],
  ["+010000-01-01T00:00:00Z", undefined],
  ["-0001-01-01T00:00:00Z", undefined],
  ["2023-02-29T00:00:00Z", undefined],
  ["2026-02-30T00:00:00Z", undefined],
  ["2026-13-01T00:00:00Z", undefined],
  ["2026-01-02T25:00:00Z", undefined],
  ["2026-01-02T03:04:05", undefined],
  ["2026-01-02", undefined],
  ["yesterday", undefined],
  ["", undefined],
])("the time %s", (text, expected) => {
  const read = () => new Date(record({ a: text }).timeMs("a")).toISOString();
  if (expected === undefined) expect(read).toThrow(/^list\[0\]\.a: .* is not an RFC 3339 time/);
  else expect(read()).toBe(expected);
});

test("an object read twice is the same, with all fields read from it", () => {
  const unread: string[] = [];
  const fields = new Fields({ data: { type: "a", note: "b", more: "c" }, none: null });
  fields.object("data").text("type");
  fields.optionalObject("data")?.optionalText("note");
  fields.reportUnread(new Set(), (member) => unread.push(member));
  expect(unread).toEqual(["data.more"]);
});

test("has() does not count as reading; a refused value does", () => {
  const unread: string[] = [];
  const fields = new Fields({ there: 1, wrong: 2, versions: { "1.0": { a: 1 }, "2.0": 1 } });
  expect(fields.has("there")).toBe(true);
  expect(() => fields.text("wrong")).toThrow(FeedRefusal);
  fields.map("versions").object("1.0");
  fields.reportUnread(new Set(["versions.*"]), (member) => unread.push(member));
  expect(unread.sort()).toEqual(["there", "versions.*.a"]);
});
