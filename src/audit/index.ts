/**
 * audit: who did what, where, and how it ended.
 *
 * - {@link Audit} writes records: that of a change in its own transaction, others within a second, in batches.
 *   100 calls per caller and second get a record each; the rest are counted in one without a method. Calls without a
 *   caller, which anyone can make, are only counted: by code, minute and network. Memory is bounded, so that a flood of
 *   refused calls costs little. A process that is killed loses the last second of these records, and up to a minute of
 *   the counts of calls without a caller.
 * - {@link readAudit} reads them oldest first, {@link listAudit} newest first, a page at a time. Both select by the
 *   same {@link AuditFilter}. A page of the records of a group, or of a caller, reads a range of an index.
 */
export {
  type AuditFilter,
  type AuditLine,
  type AuditPlace,
  type AuditRecord,
  appendAudit,
  auditEntry,
  countAudit,
  emptyRecord,
  forgetAudit,
  isSelected,
  listAudit,
  readAudit,
} from "./records.ts";
export { Audit } from "./writer.ts";
