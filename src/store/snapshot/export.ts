/** Writes a snapshot: everything in a database, at one moment. */
import { randomUUID } from "node:crypto";
import type { Engine } from "../engines/engine.ts";
import type { Dialect } from "../sql/dialect.ts";
import type { SqlConnection } from "../sql/statement.ts";
import { encodeRow, type SnapshotHeader, type SnapshotProgress, TableDigest, type TableEnd } from "./format.ts";
import { readTable, type SnapshotTable, schemaOf, snapshotTables } from "./tables.ts";

/** How many rows are read at once. */
const portion = 200;

/**
 * Writes the lines of a snapshot. `write` resolves when it can take the next one. Writers of the database are not
 * delayed. Errors: UnavailableError.
 */
export function exportSnapshot(
  engine: Engine,
  write: (line: string) => Promise<void>,
  report: (progress: SnapshotProgress) => void,
): Promise<readonly TableEnd[]> {
  return engine.snapshot(async (connection) => {
    const { dialect } = engine;
    const tables = await snapshotTables(dialect, connection);
    const header: SnapshotHeader = {
      format: "platform-snapshot",
      version: 1,
      id: randomUUID(),
      schema: await schemaOf(dialect, connection),
      tables,
    };
    await write(JSON.stringify(header));
    const ends: TableEnd[] = [];
    for (const table of tables) {
      const digest = new TableDigest();
      for await (const rows of readTable(dialect, connection, table, portion)) {
        const lines = rows.map(encodeRow);
        for (const line of lines) digest.add(line);
        await write(`[${JSON.stringify(table.name)},[${lines.join(",")}]]`);
        report({ table: table.name, rows: digest.rows });
      }
      const end = digest.end(table.name);
      await write(JSON.stringify(end));
      report(end);
      ends.push(end);
    }
    await write('{"end":true}');
    return ends;
  });
}

/** The digest of a table. */
export async function digestOf(dialect: Dialect, connection: SqlConnection, table: SnapshotTable): Promise<TableEnd> {
  const digest = new TableDigest();
  for await (const rows of readTable(dialect, connection, table, portion))
    for (const row of rows) digest.add(encodeRow(row));
  return digest.end(table.name);
}
