/** `platform audit`: prints the audit log, or appends it to a file. */

import { Command, InvalidArgumentError, Option } from "commander";
import { type AuditFilter, type AuditLine, isSelected, readAudit } from "../../audit/index.ts";
import { stopSignal, wholeNumber } from "../../command/index.ts";
import { printable } from "../../log-text.ts";
import type { Database } from "../../store/index.ts";
import { requireInstallation, withDatabase } from "../database.ts";
import { type Listing, parseSince, printListing, printText } from "../listing.ts";
import { withSettings } from "../settings.ts";
import { cefOf } from "./cef.ts";
import { openExport } from "./export-file.ts";
import { type FollowOptions, followAudit } from "./follow.ts";

interface Options {
  readonly since?: string;
  readonly until?: string;
  readonly caller?: string;
  readonly scope?: string;
  readonly method?: string;
  readonly result?: string;
  readonly requestId?: string;
  readonly follow?: boolean;
  readonly format?: "table" | "jsonl" | "cef";
  readonly json?: boolean;
  readonly output?: string;
  readonly rotateSize: number;
  readonly rotateCount: number;
}

export function makeCommand(): Command {
  const command = withSettings(new Command("audit"), ["database"])
    .description("print the audit log, oldest records first, or append it to a file")
    .option("--since <TIME>", "only records since this time: 90s, 15m, 1h, 7d, or an RFC 3339 time")
    .addOption(new Option("--until <TIME>", "only records from before this time").conflicts(["follow", "output"]))
    .option("--caller <UID>", "only calls of this identity")
    .option("--scope <UID>", "only calls about this uid or below it")
    .option("--method <NAME>", "only this method: CreateGroup, platform.iam.v2.GroupsService/CreateGroup")
    .option("--result <CODE>", "only calls that ended so: OK, PERMISSION_DENIED, UNAUTHENTICATED, …")
    .option("--request-id <ID>", "only the call with this id, as in x-request-id")
    .option("--follow", "then print records as they are written, until stopped")
    .addOption(new Option("--format <FORMAT>", "how to print").choices(["table", "jsonl", "cef"]))
    .option("--json", "the same as --format jsonl")
    .addOption(
      new Option(
        "--output <FILE>",
        "append the records that the file does not have yet, one JSON object each; with --follow until stopped",
      ).conflicts(["format", "json"]),
    )
    .option("--rotate-size <SIZE>", "size at which the file of --output is renamed to FILE.1", sizeOf, 100 * 2 ** 20)
    .option("--rotate-count <NUMBER>", "how many renamed files are kept", wholeNumber(1, 9999), 10);
  return command.action(() =>
    withDatabase(command, async (database) => {
      const options = command.opts<Options>();
      const { since, until, result, follow = false, output } = options;
      const filter: AuditFilter = {
        ...options,
        code: result?.toUpperCase(),
        sinceMs: since === undefined ? undefined : parseSince(since),
        untilMs: until === undefined ? undefined : parseSince(until, "--until"),
      };
      await requireInstallation(database);
      if (output !== undefined) return exportTo(output, database, filter, options);
      const format = options.format ?? (options.json ? "jsonl" : "table");
      const stop = follow ? stopSignal() : undefined;
      const lines = stop ? followed(database, filter, stop) : readAudit(database.read, filter);
      if (format === "cef") await printText(lines, cefOf);
      else await printListing(lines, listing, format === "jsonl");
      stop?.release();
    }),
  );
}

/** Appends the records that the file does not have, and with `--follow` new ones. */
async function exportTo(
  path: string,
  database: Database,
  filter: AuditFilter,
  { follow = false, rotateSize, rotateCount }: Options,
): Promise<void> {
  const { signal, release } = stopSignal();
  const file = await openExport(path, { maxBytes: rotateSize, maxFiles: rotateCount });
  try {
    const from = { known: file.known, sinceMs: Math.max(filter.sinceMs ?? 0, file.sinceMs) };
    for await (const line of followed(database, filter, { signal, once: !follow, ...from })) file.append(line);
  } finally {
    file.close();
    release();
  }
}

/** The selected records, and those that are written later. */
async function* followed(
  database: Database,
  filter: AuditFilter,
  { signal, ...from }: { readonly signal: AbortSignal } & Partial<FollowOptions>,
): AsyncGenerator<AuditLine> {
  const options = {
    sinceMs: filter.sinceMs ?? 0,
    known: new Map<string, number>(),
    once: false,
    signal,
    report: (message: string) => console.error(printable(`warning: ${message}`)),
    ...from,
  };
  for await (const line of followAudit(database.read, options)) if (isSelected(line, filter)) yield line;
}

function sizeOf(text: string): number {
  const units: Readonly<Record<string, number>> = { "": 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };
  const [, amount, unit = ""] = /^([1-9][0-9]{0,9})(KiB|MiB|GiB)?$/.exec(text) ?? [];
  if (amount === undefined) throw new InvalidArgumentError("must be like 1000000, 512KiB, 100MiB or 1GiB.");
  return Number(amount) * units[unit]!;
}

const listing: Listing<AuditLine> = {
  columns: [
    ["TIME", 24, ({ time }) => time],
    ["CODE", 19, ({ code }) => code],
    ["COUNT", 5, ({ count }) => String(count)],
    ["REQUEST", 36, ({ requestId }) => requestId],
    ["CALLER", 40, ({ caller }) => caller],
    ["ADDRESS", 15, ({ address }) => address],
    ["METHOD", 0, ({ method }) => method],
    ["RESOURCE", 0, ({ resource, scope }) => resource || scope],
  ],
};
