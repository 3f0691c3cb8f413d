/**
 * Reads a snapshot into an empty database. Each line is written in a transaction that also notes how far the import is,
 * so that an import which was interrupted continues. At the end every table is read again and compared with the digest
 * of the snapshot.
 */
import { sql } from "kysely";
import { rootOf } from "../../uid.ts";
import type { Engine } from "../engines/engine.ts";
import { settingStatements } from "../settings.ts";
import type { Dialect } from "../sql/dialect.ts";
import { RefusedError } from "../sql/errors.ts";
import { compile, derivedSlot, type SqlConnection, type Statement, slot } from "../sql/statement.ts";
import { digestOf } from "./export.ts";
import {
  decodeRow,
  parseHeader,
  parseLine,
  type SnapshotHeader,
  type SnapshotProgress,
  type TableEnd,
} from "./format.ts";
import { importSetting, type SnapshotTable, schemaOf, snapshotTables } from "./tables.ts";

/** How many values one statement writes. */
const maxValues = 1000;

/** What an import notes: its snapshot, and how many lines after the header it has written. */
interface Noted {
  readonly id: string;
  readonly lines: number;
}

/**
 * Imports the lines of a snapshot. Errors: RefusedError when the database is not empty, has another schema, or differs
 * from the snapshot afterwards; UnavailableError.
 */
export async function importSnapshot(
  engine: Engine,
  lines: AsyncIterable<string>,
  report: (progress: SnapshotProgress) => void,
): Promise<readonly TableEnd[]> {
  const source = lines[Symbol.asyncIterator]();
  const header = parseHeader((await source.next()).value);
  const noted = await prepare(engine, header);
  const ends = await writeLines(engine, header, source, noted, report);
  await verify(engine, header, ends, report);
  const { query } = engine.dialect;
  const done = compile(query, query.deleteFrom("settings").where("name", "=", slot("name")));
  await engine.transact(async (connection) => connection.run(done, { name: importSetting }), {});
  return ends;
}

/** How far an import of this snapshot is. Errors: RefusedError. */
async function prepare({ dialect, reader }: Engine, header: SnapshotHeader): Promise<Noted> {
  const schema = await schemaOf(dialect, reader);
  if (JSON.stringify(schema) !== JSON.stringify(header.schema)) {
    const difference = `${header.schema.at(-1)}, the database has ${schema.at(-1)}`;
    throw new RefusedError(`the snapshot has the schema ${difference}: export and import with the same version`);
  }
  const [row] = await reader.rows(settingStatements(dialect).get, { name: importSetting });
  if (row !== undefined) {
    const noted = JSON.parse(Buffer.from(row[0] as Uint8Array).toString("utf8")) as Noted;
    if (noted.id === header.id) return noted;
    throw new RefusedError(
      "the database has an unfinished import of another snapshot: continue it, or use an empty one",
    );
  }
  for (const { name } of await snapshotTables(dialect, reader)) {
    const some = compile(dialect.query, sql`select 1 from ${sql.table(name)} limit 1`);
    if ((await reader.rows(some, {})).length > 0)
      throw new RefusedError(`the database is not empty: its table ${name} has rows`);
  }
  return { id: header.id, lines: 0 };
}

async function writeLines(
  engine: Engine,
  header: SnapshotHeader,
  source: AsyncIterator<string>,
  { id, lines: done }: Noted,
  report: (progress: SnapshotProgress) => void,
): Promise<readonly TableEnd[]> {
  const writers = new Map(header.tables.map((table) => [table.name, new TableWriter(engine.dialect, table)]));
  const { dialect, reader } = engine;
  const contents = (await dialect.maintainedIndexes?.(dialect.query, reader)) ?? [];
  const ends: TableEnd[] = [];
  let rows = 0;
  for (let number = 1; ; number++) {
    const { value, done: isCutOff } = await source.next();
    if (isCutOff) throw new RefusedError("the snapshot is damaged: its end is missing");
    const line = parseLine(value) as readonly [string, unknown[][]] | TableEnd | { readonly end: true };
    if ("end" in line) return ends;
    if (!Array.isArray(line)) {
      ends.push(line as TableEnd);
      rows = 0;
      continue;
    }
    const [name, values] = line as [string, unknown[][]];
    rows += values.length;
    if (number <= done) continue;
    const writer = writers.get(name);
    if (writer === undefined) throw new RefusedError(`the snapshot is damaged: it has rows of a table ${name}`);
    await engine.transact(async (connection) => {
      await writer.write(connection, values);
      for (const { table, index } of contents) if (table === name) await index(connection, writer.keysOf(values));
      await note(engine.dialect, connection, { id, lines: number });
    }, {});
    report({ table: name, rows });
  }
}

async function note(dialect: Dialect, connection: SqlConnection, noted: Noted): Promise<void> {
  await connection.run(settingStatements(dialect).put, {
    name: importSetting,
    value: Buffer.from(JSON.stringify(noted)),
  });
}

/** Writes rows of one table. */
class TableWriter {
  readonly #dialect: Dialect;
  readonly #table: SnapshotTable;
  readonly #statements = new Map<number, Statement>();

  constructor(dialect: Dialect, table: SnapshotTable) {
    this.#dialect = dialect;
    this.#table = table;
  }

  async write(connection: SqlConnection, rows: readonly (readonly unknown[])[]): Promise<void> {
    const types = Object.values(this.#table.columns);
    const size = Math.max(1, Math.floor(maxValues / types.length));
    for (let i = 0; i < rows.length; i += size) {
      const some = rows.slice(i, i + size);
      const values: Record<string, unknown> = {};
      for (const [row, encoded] of some.entries())
        for (const [column, value] of decodeRow(encoded, types).entries()) values[`${row} ${column}`] = value;
      await connection.run(this.#insert(some.length), values);
    }
  }

  /** The uids of rows. */
  keysOf(rows: readonly (readonly unknown[])[]): readonly string[] {
    const at = Object.keys(this.#table.columns).indexOf("uid");
    return rows.map((row) => row[at] as string);
  }

  #insert(rows: number): Statement {
    let statement = this.#statements.get(rows);
    if (statement === undefined) {
      const columns = Object.keys(this.#table.columns);
      const isDistributed = this.#dialect.isDistributed(this.#table.name);
      const uid = columns.indexOf("uid");
      const tuples = Array.from({ length: rows }, (_, row) => {
        const root = isDistributed ? [derivedSlot(`${row} ${uid}`, rootOf)] : [];
        return sql`(${sql.join([...columns.map((_, i) => slot(`${row} ${i}`)), ...root])})`;
      });
      const names = sql.join([...columns, ...(isDistributed ? ["root"] : [])].map((column) => sql.ref(column)));
      const insert = sql`insert into ${sql.table(this.#table.name)} (${names}) values ${sql.join(tuples)}`;
      statement = compile(this.#dialect.query, insert);
      this.#statements.set(rows, statement);
    }
    return statement;
  }
}

async function verify(
  engine: Engine,
  { tables }: SnapshotHeader,
  ends: readonly TableEnd[],
  report: (progress: SnapshotProgress) => void,
): Promise<void> {
  await engine.snapshot(async (connection) => {
    for (const table of tables) {
      const wanted = ends.find((end) => end.table === table.name);
      const found = await digestOf(engine.dialect, connection, table);
      if (wanted === undefined || wanted.rows !== found.rows || wanted.sha256 !== found.sha256)
        throw new RefusedError(
          `the import differs from the snapshot: the table ${table.name} has ${found.rows} rows, not ${wanted?.rows}, or other values`,
        );
      report(found);
    }
  });
}
