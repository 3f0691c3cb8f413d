/** `platform audit`: who did what, where, and how it ended. */
import { once } from "node:events";
import { Command } from "commander";
import { type AuditRecord, readAudit } from "../server/index.ts";
import { requireInstallation, withDatabase } from "./database.ts";
import { CommandFailure } from "./failure.ts";
import { withSettings } from "./settings.ts";

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

interface Options {
  readonly since?: string;
  readonly caller?: string;
  readonly method?: string;
  readonly json?: boolean;
}

export function auditCommand(): Command {
  const command = withSettings(new Command("audit"), ["database"])
    .description("print the audit log, oldest records first")
    .option("--since <TIME>", "only what is not older: 90s, 15m, 1h, 7d, or an RFC 3339 time")
    .option("--caller <UID>", "only calls of this identity")
    .option("--method <NAME>", "only this method: CreateGroup, platform.iam.v2.GroupsService/CreateGroup")
    .option("--json", "print one JSON object for each record");
  return command.action(() =>
    withDatabase(command, async (database) => {
      const { since, caller, method, json } = command.opts<Options>();
      const filter = { sinceMs: since === undefined ? undefined : parseTime(since), caller, method };
      await requireInstallation(database);
      process.stdout.on("error", () => {}); // whoever reads has gone, as `head` does
      if (json !== true) await print(line("TIME", "CODE", "COUNT", "REQUEST", "CALLER", "METHOD", "RESOURCE"));
      for await (const record of readAudit(database.read, filter)) {
        if (!process.stdout.writable) return;
        await print(json === true ? JSON.stringify(record) : lineOf(record));
      }
    }),
  );
}

/** Widths of the columns; the last two are as long as they are. */
const widths = [24, 19, 5, 36, 40, 0, 0];

function lineOf({
  time,
  code,
  count,
  requestId,
  caller,
  method,
  resource,
  scope,
}: AuditRecord & { time: string }): string {
  return line(time, code, String(count), requestId, caller, method, resource || scope);
}

function line(...cells: readonly string[]): string {
  return cells.map((cell, i) => (cell || "-").padEnd(widths[i] ?? 0)).join("  ");
}

/** Waits for whoever reads slower than we write. */
async function print(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, "drain");
}

function parseTime(text: string): number {
  const [, amount, unit = ""] = /^([1-9][0-9]{0,6})([smhd])$/.exec(text) ?? [];
  const isDate = /^\d{4}-\d\d-\d\d(?:T|$)/.test(text);
  const timeMs = isDate ? Date.parse(text) : Date.now() - Number(amount) * (unitMs[unit] ?? Number.NaN);
  if (Number.isNaN(timeMs))
    throw new CommandFailure(
      `--since must be like 90s, 15m, 1h or 7d, or an RFC 3339 time, not ${JSON.stringify(text)}`,
    );
  return timeMs;
}
