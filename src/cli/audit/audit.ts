/** `platform audit`: prints the audit log. */

import { Command } from "commander";
import { type AuditRecord, readAudit } from "../../pipeline/index.ts";
import { requireInstallation, withDatabase } from "../database.ts";
import { type Listing, parseSince, printListing } from "../listing.ts";
import { withSettings } from "../settings.ts";

interface Options {
  readonly since?: string;
  readonly caller?: string;
  readonly method?: string;
  readonly json?: boolean;
}

export function auditCommand(): Command {
  const command = withSettings(new Command("audit"), ["database"])
    .description("print the audit log, oldest records first")
    .option("--since <TIME>", "only records since this time: 90s, 15m, 1h, 7d, or an RFC 3339 time")
    .option("--caller <UID>", "only calls of this identity")
    .option("--method <NAME>", "only this method: CreateGroup, platform.iam.v2.GroupsService/CreateGroup")
    .option("--json", "print one JSON object for each record");
  return command.action(() =>
    withDatabase(command, async (database) => {
      const { since, caller, method, json } = command.opts<Options>();
      const filter = { sinceMs: since === undefined ? undefined : parseSince(since), caller, method };
      await requireInstallation(database);
      await printListing(readAudit(database.read, filter), listing, json === true);
    }),
  );
}

const listing: Listing<AuditRecord & { readonly time: string }> = {
  columns: [
    ["TIME", 24],
    ["CODE", 19],
    ["COUNT", 5],
    ["REQUEST", 36],
    ["CALLER", 40],
    ["METHOD", 0],
    ["RESOURCE", 0],
  ],
  cells: ({ time, code, count, requestId, caller, method, resource, scope }) => [
    time,
    code,
    String(count),
    requestId,
    caller,
    method,
    resource || scope,
  ],
};
