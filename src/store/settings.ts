/** The statements on settings: bytes by name. */
import type { Dialect } from "./dialect/dialect.ts";
import { compile, type Statement, slot } from "./statement.ts";

/** Slots `name` and `value`. */
export interface SettingStatements {
  readonly get: Statement;
  readonly put: Statement;
  /** Changes no row when the setting exists. */
  readonly add: Statement;
}

/** Compiles the statements on the settings. */
export function settingStatements({ query }: Dialect): SettingStatements {
  const insert = query.insertInto("settings").values({ name: slot("name"), value: slot("value") });
  return {
    get: compile(query, query.selectFrom("settings").select("value").where("name", "=", slot("name"))),
    put: compile(
      query,
      insert.onConflict((conflict) => conflict.column("name").doUpdateSet({ value: slot("value") })),
    ),
    add: compile(
      query,
      insert.onConflict((conflict) => conflict.column("name").doNothing()),
    ),
  };
}
