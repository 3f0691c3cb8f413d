/** Reader threads stop queries that would not end. */
import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { sqlite } from "../../../../src/store/engines/sqlite/engine.ts";
import { Readers } from "../../../../src/store/engines/sqlite/readers.ts";
import { compile, slot } from "../../../../src/store/sql/statement.ts";
import { temporaryFolder } from "../../../cli/platform-process.ts";

const endless = compile(
  sqlite.query,
  sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers)
    select count(*) from numbers where ${sqlite.goesOn!}`,
);
const echo = compile(sqlite.query, sql`select ${slot("value")} as value`);
const broken = { text: "select nothing", slots: [] };
const notStopped = { caller: "a", signal: new AbortController().signal };

async function openReaders(size: number): Promise<Readers> {
  const path = `${await temporaryFolder()}/platform.db`;
  new DatabaseSync(path).close();
  const readers = new Readers({ path, size, readable: async () => {}, durable: async () => {} });
  onTestFinished(() => readers.close());
  return readers;
}

test("a query that would not end stops with its call, and its thread runs the next one", async () => {
  const readers = await openReaders(1);
  for (let i = 0; i < 3; i++) {
    const stop = new AbortController();
    const stopped = readers.rows(endless, {}, { caller: "a", signal: stop.signal });
    setTimeout(() => stop.abort(new Error("gone")), 20);
    await expect(stopped).rejects.toThrow("gone");
    expect(await readers.rows(echo, { value: i }, notStopped)).toEqual([[i]]);
  }
});

test("bytes arrive as they are stored", async () => {
  const readers = await openReaders(1);
  const bytes = new Uint8Array([0, 1, 255]);
  expect(await readers.rows(echo, { value: bytes }, notStopped)).toEqual([[bytes]]);
});

test("a statement that fails fails its query only", async () => {
  const readers = await openReaders(1);
  await expect(readers.rows(broken, {}, notStopped)).rejects.toThrow("syntax error");
  expect(await readers.rows(echo, { value: 1 }, notStopped)).toEqual([[1]]);
});

test("nothing is returned that may not stay", async () => {
  const path = `${await temporaryFolder()}/platform.db`;
  new DatabaseSync(path).close();
  const readers = new Readers({
    path,
    size: 1,
    readable: async () => {},
    durable: () => Promise.reject(new Error("the disk has failed")),
  });
  onTestFinished(() => readers.close());
  await expect(readers.rows(echo, { value: 1 }, notStopped)).rejects.toThrow("the disk has failed");
});
