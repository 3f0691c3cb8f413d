/** Databases as earlier programs left them. */
import { postgres } from "../../src/store/dialect/postgres.ts";
import { sqlite } from "../../src/store/dialect/sqlite.ts";
import { migrations } from "../../src/store/migrations/index.ts";
import { compile } from "../../src/store/statement.ts";
import type { TestDatabase } from "./databases.ts";

/** Brings the schema to where a program stood that knew the migrations before `name`. */
export async function migrateUpTo(name: string, database: TestDatabase): Promise<void> {
  const dialect = database.name === "sqlite" ? sqlite : postgres;
  await database.sql("create table migrations (name text not null primary key)");
  for (const migration of migrations.slice(
    0,
    migrations.findIndex((each) => each.name === name),
  )) {
    for (const statement of migration.statements(dialect)) await database.sql(compile(dialect.query, statement).text);
    await database.sql(`insert into migrations (name) values ('${migration.name}')`);
  }
}
