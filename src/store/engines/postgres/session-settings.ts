/**
 * The settings of every connection. They are set when it opens. Behind a pooler, where a session of the server serves
 * many clients in turn, they are defaults of the database user instead.
 */
import pg from "pg";
import { RefusedError } from "../../sql/errors.ts";

/** How often the server checks whether the client of a running statement is still connected. */
const connectionCheckMs = 500;

/** Times are in milliseconds. Query plans depend on the text of a statement, see engine.ts. */
const settings = {
  statement_timeout: "30s",
  lock_timeout: "10s",
  idle_in_transaction_session_timeout: "30s",
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  max_parallel_workers_per_gather: "0",
  jit: "off",
  client_connection_check_interval: `${connectionCheckMs}ms`,
};

/**
 * The same for a database with distributed tables. Citus plans by the values of a statement, which determine its
 * shards; and what is set for a transaction holds for its part on the workers.
 */
const distributedSettings = { ...settings, plan_cache_mode: "auto", "citus.propagate_set_commands": "local" };

const setting = (entries: Readonly<Record<string, string>>) =>
  Object.entries(entries)
    .map(([name, value]) => `set ${name} = '${value}';`)
    .join("");

/** The statements that set up a new connection. */
export const sessionSettings = setting(settings);

/** The same for a database with distributed tables. */
export const distributedSessionSettings = setting(distributedSettings);

/**
 * Makes the settings defaults of the user in this database, unless they are. Connections of the pooler to the server
 * get them when they are opened. Errors: RefusedError when the user may not.
 */
export async function setUserDefaults(client: pg.ClientBase, isDistributed: boolean): Promise<void> {
  const entries = Object.entries(isDistributed ? distributedSettings : settings);
  const wanted = entries.map(([name, value]) => `${name}=${value}`);
  const { rows } = await client.query<{ role: string; database: string; config: string[] | null }>(
    `select current_user as role, current_database() as database, (select setconfig from pg_db_role_setting
      where setdatabase = (select oid from pg_database where datname = current_database())
      and setrole = (select oid from pg_roles where rolname = current_user)) as config`,
  );
  const { role, database, config } = rows[0]!;
  if (wanted.every((setting) => config?.includes(setting))) return;
  const subject = `role ${pg.escapeIdentifier(role)} in database ${pg.escapeIdentifier(database)}`;
  const statements = entries.map(([name, value]) => `alter ${subject} set ${name} = '${value}';`);
  try {
    await client.query(statements.join("\n"));
  } catch (error) {
    // Another server that starts at the same time sets the same.
    if ((error as Error).message.includes("concurrently updated")) return setUserDefaults(client, isDistributed);
    throw new RefusedError(
      `behind a pooler, the database user needs settings that it may not set itself: ${(error as Error).message}; as a superuser, run:\n${statements.join("\n")}`,
    );
  }
}
