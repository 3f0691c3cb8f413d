/** `platform migrate`: applies pending migrations. `platform serve` does so where `--auto-migrate` lets it. */
import { Command } from "commander";
import { refreshDerivedRows } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { withAuditedDatabase, withDatabase } from "./database.ts";
import { withSettings } from "./settings.ts";

export function migrateCommand(): Command {
  const command = withSettings(new Command("migrate"), ["database"])
    .option("--citus", "then distribute tenants among the workers of a Citus cluster; stop servers first")
    .option("--plan", "print the pending migrations and what they lock, and change nothing");
  return command.action(({ citus, plan }: { readonly citus?: boolean; readonly plan?: boolean }) => {
    if (plan) return withDatabase(command, printPlan);
    return withAuditedDatabase(
      command,
      async (database) => {
        const count = await database.migrate(({ name }, durationMs) =>
          console.log(`${name}: ${(durationMs / 1000).toFixed(1)} s`),
        );
        await refreshDerivedRows(database, Date.now);
        console.log(count === 0 ? "the database is up to date" : `${count} migration${count === 1 ? "" : "s"} applied`);
        if (citus) console.log(`${await database.distribute()} tables distributed`);
      },
      { create: true },
    );
  });
}

async function printPlan(database: Database): Promise<void> {
  const pending = await database.pendingMigrations();
  for (const { name, locks } of pending) console.log(`${name}: ${locks}`);
  if (pending.length === 0) console.log("the database is up to date");
}
