/** The migrations of the next release. */
import { existsSync } from "node:fs";
import { sql } from "kysely";
import type { Release } from "../../src/store/migration.ts";

/** While this file exists, the first migration blocks its thread, as a statement does that takes long. */
const gate = process.env.TEST_MIGRATION_GATE;

function waitAtGate(): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (gate !== undefined && existsSync(gate)) Atomics.wait(never, 0, 0, 50);
}

/** It adds a column, then its index; in the end, every row must be given a value by its program. */
export const nextRelease: Release = {
  steps: [
    {
      name: "9001-shades",
      locks: "adds a column to repos: calls wait for a moment",
      storedRows: "no shade, until the end",
      statements: ({ types }) => [sql`alter table repos add column shade ${types.text} not null default ''`],
      ...(gate !== undefined && { fill: async () => waitAtGate() }),
    },
    {
      name: "9002-shades-index",
      locks: "builds an index on repos: changes wait until it is done",
      statements: ({ query }) => [query.schema.createIndex("repos_shade").on("repos").columns(["shade", "uid"])],
    },
  ],
  finish: [
    {
      name: "9003-shades-without-default",
      locks: "locks repos for a moment",
      statements: ({ name }) =>
        name === "postgresql"
          ? [sql`alter table repos alter column shade drop default`]
          : [
              sql`create trigger repos_have_shades before insert on repos when new.shade = ''
                begin select raise(abort, 'a repo has a shade'); end`,
            ],
    },
  ],
};
