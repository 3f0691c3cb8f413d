/** The statements on settings. A setting is bytes with a name. */
import { sql } from "kysely";
import type { Dialect } from "./sql/dialect.ts";
import { compileAll, type Statement, slot } from "./sql/statement.ts";

/** Slots `name` and `value`. */
export interface SettingStatements {
  readonly get: Statement;
  /** As `get`, and locks the setting, if there is one. */
  readonly lock: Statement;
  readonly put: Statement;
  /** Changes nothing when the setting exists. */
  readonly add: Statement;
}

/** Compiles the statements on the settings. */
export function settingStatements({ query, locks }: Dialect): SettingStatements {
  const insert = query.insertInto("settings").values({ name: slot("name"), value: slot("value") });
  return compileAll(query, {
    get: query.selectFrom("settings").select("value").where("name", "=", slot("name")),
    lock: sql`select value from settings where name = ${slot("name")} ${locks.change}`,
    put: insert.onConflict((conflict) => conflict.column("name").doUpdateSet({ value: slot("value") })),
    add: insert.onConflict((conflict) => conflict.column("name").doNothing()),
  });
}
