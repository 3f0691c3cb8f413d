/** Bulk inserts. */
import { DatabaseSync } from "node:sqlite";
import pg from "pg";

type Value = string | number | Uint8Array;

/** A database that is being filled. Nothing is durable until it is closed. */
export interface Filling {
  /** Inserts rows. @param ending SQL after the values. */
  insert(table: string, columns: readonly string[], rows: Iterable<readonly Value[]>, ending?: string): Promise<void>;
  /** Commits and updates the statistics of the query planner. */
  close(): Promise<void>;
}

/** Opens an SQLite file. */
export function openSqlite(path: string, schema = ""): Filling {
  const database = new DatabaseSync(path);
  database.exec(`pragma synchronous = off; pragma cache_size = -200000; begin; ${schema}`);
  return {
    async insert(table, columns, rows, ending = "") {
      const places = columns.map(() => "?").join();
      const insert = database.prepare(`insert into ${table} (${columns.join()}) values (${places}) ${ending}`);
      for (const row of rows) insert.run(...row);
    },
    async close() {
      database.exec("commit; pragma journal_mode = wal; analyze");
      database.close();
    },
  };
}

const rowsPerStatement = 2000;

/** Opens a PostgreSQL database. */
export async function openPostgres(url: string): Promise<Filling> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query("begin");
  return {
    async insert(table, columns, rows, ending = "") {
      const send = async (batch: readonly (readonly Value[])[]) => {
        const places = batch.map((row, r) => `(${row.map((_, c) => `$${r * row.length + c + 1}`).join()})`);
        const text = `insert into ${table} (${columns.join()}) values ${places.join()} ${ending}`;
        await client.query(text, batch.flat());
      };
      let batch: (readonly Value[])[] = [];
      for (const row of rows) {
        if (batch.push(row) < rowsPerStatement) continue;
        await send(batch);
        batch = [];
      }
      if (batch.length > 0) await send(batch);
    },
    async close() {
      await client.query("commit");
      await client.query("vacuum (analyze)");
      await client.end();
    },
  };
}
