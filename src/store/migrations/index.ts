/** All migrations, in the order in which they run. */

import type { Migration, Release } from "../migration.ts";
import { all } from "./all.ts";
import { firstTables } from "./first-tables.ts";

/**
 * The releases that change the schema, in order. In the first one are those from before phases, too: programs that lack
 * one of them cannot work on its schema. The next release takes the migrations from its first one on.
 */
export const releases: readonly Release[] = [{ steps: [...firstTables, ...all], finish: [] }];

/** The migrations of all releases. */
export const migrations: readonly Migration[] = releases.flatMap(({ steps, finish }) => [...steps, ...finish]);
