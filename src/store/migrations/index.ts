/** All migrations, in the order in which they run. */
import type { Migration } from "../migrate.ts";
import { foundation } from "./0001-foundation.ts";

/** The steps of the schema; a new one goes to the end. */
export const migrations: readonly Migration[] = [foundation];
