/** Runs SQL on a PostgreSQL server, on a connection of its own. */
import pg from "pg";

/** The rows of a statement. Where `text` has several, they run, but no rows are returned. */
export async function runSql(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
