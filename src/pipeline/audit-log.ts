/** The audit log in the database. */
import { randomHex } from "../random-hex.ts";
import type { Database, LogEntry, LogSpec, ReadSession, WriteSession } from "../store/index.ts";
import { covers } from "../uid.ts";

/** One line of the log. It holds no secret: of a request it keeps uids and nothing else. */
export interface AuditRecord {
  /** uid of the identity, or `cli:alice@host` for a command; "" if nobody was authenticated. */
  readonly caller: string;
  /** `iss` of the caller's token. */
  readonly issuer: string;
  /**
   * `platform.iam.v2.GroupsService/CreateGroup`, `sts/exchange`, `iam/first_sign_in`, `cli/keys.rotate`; "" in a line
   * that only counts calls.
   */
  readonly method: string;
  /** The uid that the call was authorized at. */
  readonly scope: string;
  /** uid of the resource that was created, updated or deleted. */
  readonly resource: string;
  /** `OK` or the code's name. */
  readonly code: string;
  readonly requestId: string;
  /** How many calls the line stands for. */
  readonly count: number;
}

/** A record whose fields are all empty. */
export const emptyRecord: AuditRecord = {
  caller: "",
  issuer: "",
  method: "",
  scope: "",
  resource: "",
  code: "",
  requestId: "",
  count: 0,
};

/** A record as it is read. */
export interface AuditLine extends AuditRecord {
  /** Unique. */
  readonly id: string;
  /** RFC 3339. */
  readonly time: string;
}

/** Which records to read. */
export interface AuditFilter {
  /** Milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
  /** Only records from before this time. */
  readonly untilMs?: number | undefined;
  /** uid of the caller. */
  readonly caller?: string | undefined;
  /** A method, with or without its service. */
  readonly method?: string | undefined;
  /** Only records about this uid, as scope or resource, or about one below it. */
  readonly scope?: string | undefined;
  readonly code?: string | undefined;
  readonly requestId?: string | undefined;
}

const auditLog: LogSpec = {
  name: "audit_log",
  columns: {
    caller: "text",
    issuer: "text",
    method: "text",
    scope: "text",
    resource: "text",
    code: "text",
    request_id: "text",
    count: "integer",
  },
};
const batchSize = 500;

/** The entry of a record. `nowMs`: milliseconds since 1970. */
export function auditEntry({ requestId, ...columns }: AuditRecord, nowMs: number): LogEntry {
  return { timeUs: nowMs * 1000, id: randomHex(8), columns: { ...columns, request_id: requestId } };
}

/** Appends an entry in a transaction. */
export function appendAudit(session: WriteSession, entry: LogEntry): Promise<void> {
  return session.append(auditLog, entry);
}

/** The records, oldest first, each with its time (RFC 3339). They are read in batches as the caller consumes them. */
export async function* readAudit(
  session: ReadSession,
  { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, caller, ...filter }: AuditFilter,
): AsyncGenerator<AuditLine> {
  const scan = {
    sinceUs: sinceMs * 1000,
    limit: batchSize,
    ...(caller !== undefined && { where: { column: "caller", equals: caller } }),
  };
  for (let after: LogEntry | undefined; ; ) {
    const entries = await session.scan(auditLog, { ...scan, ...(after && { after }) });
    for (const { timeUs, id, columns } of entries) {
      if (timeUs >= untilMs * 1000) return;
      const { request_id: requestId, ...rest } = columns;
      const line = { time: new Date(timeUs / 1000).toISOString(), id, ...rest, requestId } as AuditLine;
      if (isSelected(line, filter)) yield line;
    }
    if (entries.length < batchSize) return;
    after = entries.at(-1);
  }
}

/** Whether a line is about what a filter asks for, whatever its time. */
export function isSelected(line: AuditLine, { caller, method, scope, code, requestId }: AuditFilter): boolean {
  return (
    (caller === undefined || line.caller === caller) &&
    (method === undefined || line.method === method || line.method.endsWith(`/${method}`)) &&
    (scope === undefined || covers(scope, line.scope) || covers(scope, line.resource)) &&
    (code === undefined || line.code === code) &&
    (requestId === undefined || line.requestId === requestId)
  );
}

/** Removes some of the records from before `beforeMs`. True if there may be more. */
export async function forgetAudit(database: Database, beforeMs: number): Promise<boolean> {
  const [oldest] = await database.read.scan(auditLog, { limit: 1 });
  if (oldest === undefined || oldest.timeUs >= beforeMs * 1000) return false;
  return database.transact(
    async (session) => (await session.forget(auditLog, beforeMs * 1000, batchSize)) >= batchSize,
  );
}
