/** Commands that change something, in the audit log. The caller is the user of the operating system. */
import { hostname, userInfo } from "node:os";
import type { Command } from "commander";
import { type AuditRecord, appendAudit, auditEntry, emptyRecord } from "../audit/index.ts";
import type { Database, WriteSession } from "../store/index.ts";

/** What a record says about a command beside its name and its user. */
export type CommandDetails = Partial<Pick<AuditRecord, "scope" | "resource" | "code">>;

/** The record of one run of a command. It is written once. */
export interface CommandRecord {
  /** Writes it in a transaction. */
  append(session: WriteSession, details?: CommandDetails): Promise<void>;
  /** Writes it now. */
  write(details?: CommandDetails): Promise<void>;
  /** Whether it has been written. */
  readonly isWritten: boolean;
}

/** The record of a command on a database. */
export function recordOf(command: Command, database: Database): CommandRecord {
  const entryOf = (details: CommandDetails) =>
    auditEntry(
      { ...emptyRecord, caller: callerOf(), method: methodOf(command), code: "OK", count: 1, ...details },
      Date.now(),
    );
  let isWritten = false;
  return {
    append: (session, details = {}) => {
      isWritten = true;
      return appendAudit(session, entryOf(details));
    },
    async write(details = {}) {
      const entry = entryOf(details);
      await database.transact((session) => appendAudit(session, entry));
      isWritten = true;
    },
    get isWritten() {
      return isWritten;
    },
  };
}

/** `cli:alice@host`. */
function callerOf(): string {
  return `cli:${userName()}@${hostname()}`;
}

/** The user's name, or its number where it has no name, as in many containers. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}

/** `cli/keys.rotate`. */
function methodOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at?.parent; at = at.parent) names.unshift(at.name());
  return `cli/${names.join(".")}`;
}
