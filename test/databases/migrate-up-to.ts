/** Makes databases of earlier versions of the program. */
import { DatabaseSync } from "node:sqlite";
import { postgres } from "../../src/store/engines/postgres/engine.ts";
import { sqlite } from "../../src/store/engines/sqlite/engine.ts";
import type { Migration } from "../../src/store/migration.ts";
import { migrations } from "../../src/store/migrations/index.ts";
import type { Dialect } from "../../src/store/sql/dialect.ts";
import { compile } from "../../src/store/sql/statement.ts";
import type { TestDatabase } from "./databases.ts";

type Place = Pick<TestDatabase, "name" | "url" | "sql">;

/** The dialect of a database. */
export function dialectOf({ name }: Pick<TestDatabase, "name">): Dialect {
  return name === "sqlite" ? sqlite : postgres;
}

/** Runs the migrations before `name`, as an earlier version of the program would have. */
export function migrateUpTo(name: string, database: Place): Promise<void> {
  return runMigrations(
    migrations.filter((each) => each.name < name),
    database,
  );
}

/** Runs the statements of migrations, but not what changes rows by their messages. */
export async function runMigrations(some: readonly Migration[], { name, url, sql }: Place): Promise<void> {
  const dialect = dialectOf({ name });
  const texts = some.flatMap((migration) => [
    ...migration.statements(dialect).map((statement) => compile(dialect.query, statement).text),
    `insert into migrations (name) values ('${migration.name}')`,
  ]);
  const all = ["create table if not exists migrations (name text not null primary key)", ...texts].join(";\n");
  if (name === "postgresql") {
    await sql(all);
    return;
  }
  using file = new DatabaseSync(url.slice("sqlite:".length));
  file.exec(`begin; ${all}; commit`);
}
