/** The audit log in the database. */
import { randomHex } from "../new-uid.ts";
import type { Database, LogEntry, LogScan, LogSpec, ReadSession, WriteSession } from "../store/index.ts";
import { covers, isUid, parentOf, rootOf } from "../uid.ts";

/** One line of the log. It holds no secret: of a request it keeps uids, its id, and from where it came. */
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
  /** The IP address of the caller; in a line that counts calls without a caller their network: `2001:db8::/64`. */
  readonly address: string;
  /** The `user-agent` of the call. */
  readonly userAgent: string;
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
  address: "",
  userAgent: "",
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
  /** Only records about this uid or one below it, and those of identities there that called outside of their group. */
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
    address: "text",
    user_agent: "text",
    count: "integer",
  },
  places: { scope: "scope", resource: "resource", caller: "caller" },
};
const batchSize = 500;
/** The same where a call reads. Reading as many takes less than a millisecond. */
const pageBatchSize = 50;
/** How many records a page or a count looks at, whatever it selects. */
const maxExamined = 1000;

/** The entry of a record. What the caller chose is shortened. `nowMs`: milliseconds since 1970. */
export function auditEntry({ requestId, userAgent, ...columns }: AuditRecord, nowMs: number): LogEntry {
  const chosen = { request_id: shortened(requestId), user_agent: shortened(userAgent) };
  return { timeUs: nowMs * 1000, id: randomHex(8), columns: { ...columns, ...chosen } };
}

const maxChosen = 128;

/** At most the first 128 characters of a text, without those that are not shown, such as line breaks. */
function shortened(text: string): string {
  return text
    .slice(0, 4 * maxChosen)
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "")
    .slice(0, maxChosen)
    .toWellFormed();
}

/** Appends an entry in a transaction. */
export function appendAudit(session: WriteSession, entry: LogEntry): Promise<void> {
  return session.append(auditLog, entry);
}

/** The records, oldest first. They are read in batches as the caller consumes them. */
export async function* readAudit(session: ReadSession, filter: AuditFilter): AsyncGenerator<AuditLine> {
  for await (const entries of batchesOf(session, filter, { oldestFirst: true }, batchSize))
    for (const line of entries.map(lineOf)) if (isSelected(line, filter)) yield line;
}

/** The place of a record in the log. */
export type AuditPlace = Pick<LogEntry, "timeUs" | "id">;

/** Which part of the log to read. */
export interface AuditPart {
  /** The place behind which it begins. */
  readonly after?: AuditPlace | undefined;
  /** How many records to pass over. */
  readonly skip?: number;
  readonly limit: number;
  /** By default the newest records come first. */
  readonly oldestFirst?: boolean;
}

/** A page of records. */
export interface AuditPage {
  readonly lines: readonly AuditLine[];
  /** The place after which the next page begins; undefined if there is none. */
  readonly last: AuditPlace | undefined;
}

/**
 * Reads a page of records. It looks at 1000 records behind those that it skips, so that it may have fewer, or none,
 * while there are others behind it.
 */
export async function listAudit(
  session: ReadSession,
  filter: AuditFilter,
  { after, skip = 0, limit, oldestFirst = false }: AuditPart,
): Promise<AuditPage> {
  const lines: AuditLine[] = [];
  let last = after;
  let skipped = 0;
  let examined = 0;
  for await (const entries of batchesOf(session, filter, { after, oldestFirst })) {
    for (const entry of entries) {
      if (skipped === skip && examined++ === maxExamined) return { lines, last };
      const line = lineOf(entry);
      if (isSelected(line, filter)) {
        if (skipped === skip && lines.length === limit) return { lines, last };
        if (skipped === skip) lines.push(line);
        else skipped++;
      }
      last = entry;
    }
  }
  return { lines, last: undefined };
}

/**
 * How many records there are. `isEstimated`: at least so many; only the newest 1000 that an index finds are counted.
 */
export async function countAudit(
  session: ReadSession,
  filter: AuditFilter,
): Promise<{ readonly count: number; readonly isEstimated: boolean }> {
  let count = 0;
  let examined = 0;
  for await (const entries of batchesOf(session, filter, {})) {
    for (const entry of entries) {
      if (examined++ === maxExamined) return { count, isEstimated: true };
      if (isSelected(lineOf(entry), filter)) count++;
    }
  }
  return { count, isEstimated: false };
}

/** What an index finds, behind a place, in batches. Others have their turns between these. */
async function* batchesOf(
  session: ReadSession,
  filter: AuditFilter,
  { after, oldestFirst = false }: Pick<AuditPart, "after" | "oldestFirst">,
  limit = pageBatchSize,
): AsyncGenerator<LogEntry[]> {
  const scan = { ...scanOf(filter), newestFirst: !oldestFirst, limit };
  for (let last = after; ; ) {
    const entries = await session.scan(auditLog, { ...scan, ...(last && { after: last }) });
    yield entries;
    if (entries.length < limit) return;
    last = entries.at(-1);
  }
}

/** What an index finds of the selected records. */
function scanOf({ sinceMs, untilMs, caller, scope }: AuditFilter): Omit<LogScan, "limit"> {
  return {
    ...(sinceMs !== undefined && { sinceUs: sinceMs * 1000 }),
    ...(untilMs !== undefined && { untilUs: untilMs * 1000 }),
    ...(caller !== undefined && { where: { column: "caller", equals: caller } }),
    ...(caller === undefined && scope !== undefined && isUid(scope) && { at: scope }),
  };
}

function lineOf({ timeUs, id, columns }: LogEntry): AuditLine {
  const { request_id: requestId, user_agent: userAgent, ...rest } = columns;
  return { time: new Date(timeUs / 1000).toISOString(), id, ...rest, requestId, userAgent } as AuditLine;
}

/** Whether a line is about what a filter asks for, whatever its time. */
export function isSelected(line: AuditLine, { caller, method, scope, code, requestId }: AuditFilter): boolean {
  return (
    (caller === undefined || line.caller === caller) &&
    (method === undefined || line.method === method || line.method.endsWith(`/${method}`)) &&
    (scope === undefined || belongsAt(line, scope)) &&
    (code === undefined || line.code === code) &&
    (requestId === undefined || line.requestId === requestId)
  );
}

/**
 * Whether a record is about `scope` or what is below it, or of an identity there that called outside of its group, in
 * its own organisation or in none.
 */
function belongsAt({ scope: at, resource, caller }: AuditRecord, scope: string): boolean {
  const about = at === "" || covers(at, resource) ? resource : at;
  const group = parentOf(caller);
  const isOfOthers = about !== "" && rootOf(about) !== rootOf(caller); // who learn nothing of what others do
  return covers(scope, about) || (group !== "" && !covers(group, about) && !isOfOthers && covers(scope, caller));
}

/** Removes some of the records from before `beforeMs`. True if there may be more. */
export async function forgetAudit(database: Database, beforeMs: number): Promise<boolean> {
  const [oldest] = await database.read.scan(auditLog, { limit: 1 });
  if (oldest === undefined || oldest.timeUs >= beforeMs * 1000) return false;
  return database.transact(
    async (session) => (await session.forget(auditLog, beforeMs * 1000, batchSize)) >= batchSize,
  );
}
