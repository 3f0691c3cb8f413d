/** `platform migrate`: applies pending migrations. `platform serve` does so where `--auto-migrate` lets it. */
import { Command } from "commander";
import { derivedChanges, refreshDerivedRows, tenantTables } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { withAuditedDatabase, withDatabase } from "./database.ts";
import { withSettings } from "./settings.ts";

export function makeCommand(): Command {
  const command = withSettings(new Command("migrate"), ["database"])
    .option("--finish", "also run what servers of the version before cannot work with; stop them first")
    .option("--citus", "then distribute tenants among the workers of a Citus cluster; stop servers first")
    .option("--plan", "print the pending migrations and what they lock, and change nothing");
  return command.action(({ citus, finish = false, plan }: Options) => {
    if (plan) return withDatabase(command, printPlan);
    return withAuditedDatabase(
      command,
      async (database) => {
        const count = await database.migrate(
          ({ name }, durationMs) => console.log(`${name}: ${(durationMs / 1000).toFixed(1)} s`),
          {
            finish,
            onWait: (ms) => console.error(`waiting ${ms / 1000} s until servers of the version before take no calls`),
          },
        );
        await refreshDerivedRows(database, Date.now);
        console.log(count === 0 ? "the database is up to date" : `${count} migration${count === 1 ? "" : "s"} applied`);
        const { length: left } = await database.unfinishedMigrations();
        if (left > 0)
          console.log(`${left} to finish: run \`platform migrate --finish\` when no older server is needed any more`);
        if (citus) console.log(`${await database.distribute(tenantTables)} tables distributed`);
      },
      { create: true },
    );
  });
}

interface Options {
  readonly citus?: boolean;
  readonly finish?: boolean;
  readonly plan?: boolean;
}

async function printPlan(database: Database): Promise<void> {
  const pending = await database.pendingMigrations();
  const unfinished = await database.unfinishedMigrations();
  for (const { name, locks } of pending) console.log(`${name}: ${locks}`);
  for (const { name, locks } of unfinished) console.log(`${name} (with --finish): ${locks}`);
  const derived = (await database.columns()).size === 0 ? [] : await derivedChanges(database.read);
  for (const change of derived) console.log(`derived rows: ${change}`);
  if (pending.length + derived.length === 0) console.log("the database is up to date");
}
