/**
 * The first phase of a release only adds, so that programs of the release before work on. In the first release with
 * phases, that holds for what is new since they came.
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { postgres } from "../../src/store/engines/postgres/engine.ts";
import { sqlite } from "../../src/store/engines/sqlite/engine.ts";
import type { Migration, Release } from "../../src/store/migration.ts";
import { migrations, releases } from "../../src/store/migrations/index.ts";
import { resourceTable } from "../../src/store/sql/resource-table.ts";
import { compile } from "../../src/store/sql/statement.ts";
import { expectNoFaults } from "../faults.ts";
import { nextRelease } from "../next-release/release.ts";

const name = '"?([\\w]+)"?';
const createTable = new RegExp(`^create (?:virtual )?table (?:if not exists )?${name} `, "i");
const createIndex = new RegExp(`^create (unique )?index ${name} on ${name} `, "i");
const addColumn = new RegExp(`^alter table ${name} add column ${name} ([^,;]*)$`, "i");

/** What of a release's steps programs of the release before cannot work with, or would have to wait for. */
function breaksOf({ steps, finish }: Release): string[] {
  const breaks = finish.length > 0 && steps.length === 0 ? ["a release that finishes something has a step"] : [];
  for (const dialect of [sqlite, postgres]) {
    const made = new Set<string>();
    for (const migration of steps) {
      if (migration.fill !== undefined) breaks.push(`${migration.name} changes rows`);
      const texts = migration.statements(dialect).map((statement) => compile(dialect.query, statement).text);
      for (const text of texts) {
        const table = createTable.exec(text)?.[1];
        const index = createIndex.exec(text);
        const column = addColumn.exec(text);
        if (table !== undefined) made.add(table);
        else if (index !== null && made.has(index[3]!)) continue;
        else if (index?.[1] !== undefined) breaks.push(`${migration.name} makes ${index[2]} unique`);
        else if (index !== null) {
          if (texts.some((other) => !createIndex.test(other)))
            breaks.push(`${migration.name} builds ${index[2]}, which is to be a migration of its own`);
        } else if (column === null) breaks.push(`${migration.name} does more than to add: ${text}`);
        else if (/\bnot null\b/i.test(column[3]!) && !/\bdefault\b/i.test(column[3]!))
          breaks.push(`${migration.name} adds ${column[1]}.${column[2]} without a default`);
        else if (migration.storedRows === undefined)
          breaks.push(
            `${migration.name} adds ${column[1]}.${column[2]} without storedRows: what stored rows have in it`,
          );
      }
    }
  }
  return [...new Set(breaks)];
}

const lastBeforePhases = "0019-bounds";

test("of every migration since there are phases", () => {
  const steps = releases[0]!.steps.filter(({ name }) => name > lastBeforePhases);
  const breaks = [{ steps, finish: [] }, ...releases.slice(1)].flatMap(breaksOf);
  expectNoFaults(breaks.map((fault) => `src/store/migrations: ${fault}`));
  expect(breaksOf(nextRelease)).toEqual([]);
  expect(releases[0]!.finish).toEqual([]);
});

const step = (statements: Migration["statements"], more: Partial<Migration> = {}): Release => ({
  steps: [{ name: "s", locks: "", statements, ...more }],
  finish: [],
});

test("of every file in src/store/migrations, each with its own name in the order of the files", () => {
  const names = readdirSync(join(import.meta.dirname, "../../src/store/migrations")).filter((name) => /^\d/.test(name));
  const known = new Set(migrations.map(({ name }) => name));
  expect(known.size).toBe(migrations.length);
  expectNoFaults(
    names
      .filter((name) => !known.has(name.replace(/\.ts$/, "")))
      .map((name) => `src/store/migrations/${name}: no migration has its name; or was \`npm run generate\` forgotten?`),
  );
});

test.each<[string, Release, string[]]>([
  [
    "a table with unique indexes",
    step((d) => resourceTable(d, "made", { columns: { a: "text" }, unique: [["a"]] })),
    [],
  ],
  ["a column that may be null", step(() => [sql`alter table repos add column a text`], { storedRows: "none" }), []],
  [
    "a column of which is not said what stored rows have",
    step(() => [sql`alter table repos add column a text`]),
    ["s adds repos.a without storedRows: what stored rows have in it"],
  ],
  [
    "a column without a default",
    step(() => [sql`alter table repos add column a text not null`]),
    ["s adds repos.a without a default"],
  ],
  [
    "a dropped column",
    step(() => [sql`alter table repos drop column a`]),
    ["s does more than to add: alter table repos drop column a"],
  ],
  ["changed rows", step(() => [sql`update repos set a = 1`]), ["s does more than to add: update repos set a = 1"]],
  ["rows that a program changes", step(() => [], { fill: async () => {} }), ["s changes rows"]],
  [
    "a unique index",
    step((d) => [d.query.schema.createIndex("i").unique().on("repos").columns(["a"])]),
    ["s makes i unique"],
  ],
  [
    "an index beside something else",
    step(
      (d) => [sql`alter table repos add column a text`, d.query.schema.createIndex("i").on("repos").columns(["a"])],
      {
        storedRows: "none",
      },
    ),
    ["s builds i, which is to be a migration of its own"],
  ],
  [
    "an end without a beginning",
    { steps: [], finish: nextRelease.finish },
    ["a release that finishes something has a step"],
  ],
])("%s", (_, release, breaks) => {
  expect(breaksOf(release)).toEqual(breaks);
});
