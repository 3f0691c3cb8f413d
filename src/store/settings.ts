/** The statements on settings. A setting is bytes with a name. */
import type { Dialect } from "./sql/dialect.ts";
import { compile, type Statement, slot } from "./sql/statement.ts";

/** Slots `name` and `value`. */
export interface SettingStatements {
  readonly get: Statement;
  readonly put: Statement;
  /** Changes nothing when the setting exists. */
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
