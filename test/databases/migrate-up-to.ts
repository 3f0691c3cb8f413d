/** Makes databases of earlier versions of the program. */
import { postgres } from "../../src/store/engines/postgres/engine.ts";
import { sqlite } from "../../src/store/engines/sqlite/engine.ts";
import { migrations } from "../../src/store/migrations/index.ts";
import type { Dialect } from "../../src/store/sql/dialect.ts";
import { compile } from "../../src/store/sql/statement.ts";
import type { TestDatabase } from "./databases.ts";

/** The dialect of a database. */
export function dialectOf({ name }: Pick<TestDatabase, "name">): Dialect {
  return name === "sqlite" ? sqlite : postgres;
}

/** Runs the migrations before `name`, as an earlier version of the program would have. */
export async function migrateUpTo(name: string, database: Pick<TestDatabase, "name" | "sql">): Promise<void> {
  const dialect = dialectOf(database);
  await database.sql("create table migrations (name text not null primary key)");
  for (const migration of migrations.filter((each) => each.name < name)) {
    for (const statement of migration.statements(dialect)) await database.sql(compile(dialect.query, statement).text);
    await database.sql(`insert into migrations (name) values ('${migration.name}')`);
  }
}
