/** `platform migrate`: applies pending migrations. `platform serve` does so, too. */
import { Command } from "commander";
import { refreshDerivedRows } from "../services/index.ts";
import { withAuditedDatabase } from "./database.ts";
import { withSettings } from "./settings.ts";

export function migrateCommand(): Command {
  const command = withSettings(new Command("migrate"), ["database"])
    .description("apply pending database migrations")
    .option("--citus", "then distribute tenants among the workers of a Citus cluster; stop servers first");
  return command.action(({ citus }: { readonly citus?: boolean }) =>
    withAuditedDatabase(
      command,
      async (database) => {
        const count = await database.migrate();
        await refreshDerivedRows(database, Date.now);
        console.log(count === 0 ? "the database is up to date" : `${count} migration${count === 1 ? "" : "s"} applied`);
        if (citus) console.log(`${await database.distribute()} tables distributed`);
      },
      { create: true },
    ),
  );
}
