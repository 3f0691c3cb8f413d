/** What keeps each table of the database from growing without end. A new table gets a line here or in `services`. */
import { forgetAudit } from "../../audit/index.ts";
import { forgetDelivered } from "../../delivery/index.ts";
import { idempotentAnswers } from "../../pipeline/index.ts";
import { type BoundOptions, boundsOfTables, type TableBound } from "../../services/index.ts";

/** What {@link tableBounds} needs. */
export interface TableBoundsOptions extends BoundOptions {
  /** Days; undefined: audit records are kept for ever. */
  readonly auditRetentionDays: number | undefined;
  readonly eventRetentionDays: number;
}

/** The bounds of every table. */
export function tableBounds(options: TableBoundsOptions): readonly TableBound[] {
  const { database, now, auditRetentionDays: auditDays, eventRetentionDays } = options;
  const daysAgo = (days: number) => now() - days * 86_400_000;
  const forgetEvents = () => forgetDelivered(database, daysAgo(eventRetentionDays));
  return [
    ...boundsOfTables(options),
    { table: idempotentAnswers.name, expiring: { table: idempotentAnswers } },
    auditDays === undefined
      ? { table: "audit_log", because: "an installation from before there was a default keeps all, and doctor says so" }
      : { table: "audit_log", end: () => forgetAudit(database, daysAgo(auditDays)) },
    { table: "events", end: forgetEvents },
    { table: "deliveries", because: "a delivery is removed with its event" },
    { table: "counters", because: "a few rows for each row that has others below it, removed with it" },
    { table: "settings", because: "the names are those of the program" },
  ];
}
