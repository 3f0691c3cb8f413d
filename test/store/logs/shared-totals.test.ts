/** Totals outside transactions: what is read again, and when. */
import { expect, test } from "vitest";
import { SharedTotals } from "../../../src/store/logs/shared-totals.ts";
import type { SqlConnection, Statement } from "../../../src/store/sql/statement.ts";

const statement = {} as Statement;

function counted(commits?: () => number) {
  let statements = 0;
  const rows = () => [[++statements]];
  const totals = new SharedTotals({ rows } as unknown as SqlConnection, commits);
  return (key: string) => totals.read(key, statement, {});
}

test("a total is read again once something may have been committed", () => {
  let commits = 1;
  const read = counted(() => commits);
  expect([read("a"), read("b"), read("a")]).toEqual([1, 2, 1]);
  commits++;
  expect([read("a"), read("b"), read("b")]).toEqual([3, 4, 4]);
});

test("where only the database's server knows of commits, equal totals of one iteration share a statement", async () => {
  const read = counted();
  expect([read("a"), read("a"), read("b")]).toEqual([1, 1, 2]);
  await new Promise(setImmediate);
  expect(read("a")).toBe(3);
});

test("a total that could not be read is read again", () => {
  let fails = true;
  const rows = () => {
    if (fails) throw new Error("damaged");
    return [[5]];
  };
  const totals = new SharedTotals({ rows } as unknown as SqlConnection, () => 1);
  expect(() => totals.read("a", statement, {})).toThrow("damaged");
  fails = false;
  expect(totals.read("a", statement, {})).toBe(5);
});
