/**
 * Who did what, where, and how it ended, for every mutation and every call that was denied.
 *
 * - A mutation that succeeds is recorded in its own transaction: none without the other.
 * - What changes nothing (a mutation that fails, a denied call) and every use of the token service is recorded outside, in batches, within a
 *   second. Of one caller 100 a second are recorded; of more only the number is, in a line without method. Memory is bounded, so that a flood
 *   of refused calls costs next to nothing; a process that is killed loses its last second of them.
 * - While the database is unavailable, records wait in that memory. Those that it has no room for are counted, and the number is logged.
 */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryRequest } from "@connectrpc/connect";
import { knownCallerOf } from "../auth/index.ts";
import type { Contract } from "../contract/index.ts";
import { reasonOf } from "../errors.ts";
import { type Layer, onError } from "../layer.ts";
import { type Database, type LogEntry, UnavailableError, type WriteSession } from "../store/index.ts";
import { isUid } from "../uid.ts";
import { type AuditRecord, appendAudit, auditEntry } from "./audit-log.ts";

/** Writes the log. */
export interface Audit {
  /** Records what `session` does. */
  append(session: WriteSession, record: AuditRecord): Promise<void>;
  /** Records something that is over, within a second. */
  report(record: AuditRecord): void;
  /** Writes what has been reported; what cannot be written now waits. */
  flush(): Promise<void>;
  /** Writes what has been reported, or gives it up. */
  close(): Promise<void>;
}

/** What {@link createAudit} needs. */
export interface AuditOptions {
  readonly database: Database;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Told of records that could not be written, or that there was no room to keep until they could. */
  onLoss(count: number, error: unknown): void;
}

const flushMs = 1000;
const maxPerCaller = 100;
const maxCallers = 10_000;
const maxPending = 10_000;
const batchSize = 500;

/** Calls of one caller since the last flush, and how many of them are counted only. */
interface Tally {
  reported: number;
  countedOnly: number;
}

/** A writer of the log of a database. */
export function createAudit({ database, now, onLoss }: AuditOptions): Audit {
  let pending: LogEntry[] = [];
  let tallies = new Map<string, Tally>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();
  /** Records that there was no room for since the database became unavailable, and why it did. */
  let dropped = 0;
  let outage: UnavailableError | undefined;

  /** Of callers beyond what memory has room for, all are one. */
  function tallyOf(caller: string): Tally {
    const name = tallies.has(caller) || tallies.size < maxCallers ? caller : "";
    const tally = tallies.get(name) ?? { reported: 0, countedOnly: 0 };
    tallies.set(name, tally);
    return tally;
  }

  async function write(entries: readonly LogEntry[]): Promise<void> {
    for (let start = 0; start < entries.length; start += batchSize) {
      const batch = entries.slice(start, start + batchSize);
      try {
        await database.transact(async (session) => {
          for (const entry of batch) await appendAudit(session, entry);
        });
      } catch (error) {
        if (error instanceof UnavailableError) return wait(entries.slice(start), error);
        onLoss(batch.length, error);
      }
    }
    if (dropped > 0) onLoss(dropped, outage);
    dropped = 0;
  }

  /** Keeps what there is room for, the oldest first; a record that was written all the same is not written twice. */
  function wait(entries: readonly LogEntry[], error: UnavailableError): void {
    const all = [...entries, ...pending];
    pending = all.slice(0, maxPending);
    dropped += all.slice(maxPending).reduce((sum, { columns: { count } }) => sum + Number(count), 0);
    outage = error;
    schedule();
  }

  function schedule(): void {
    timer ??= setTimeout(() => void flush(), flushMs).unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(() => write(taken()));
    return writing;
  }

  function taken(): readonly LogEntry[] {
    const counts = [...tallies].filter(([, { countedOnly }]) => countedOnly > 0);
    const entries = [
      ...pending,
      ...counts.map(([caller, { countedOnly: count }]) => auditEntry({ ...nothing, caller, count }, now())),
    ];
    pending = [];
    tallies = new Map();
    return entries;
  }

  return {
    append: (session, record) => appendAudit(session, auditEntry(record, now())),
    report(record) {
      const tally = tallyOf(record.caller);
      if (tally.reported < maxPerCaller && pending.length < maxPending) {
        tally.reported++;
        pending.push(auditEntry(record, now()));
      } else tally.countedOnly++;
      schedule();
    },
    flush,
    async close() {
      await flush();
      clearTimeout(timer);
      const lost = dropped + pending.length;
      if (lost > 0) onLoss(lost, outage);
      pending = [];
      dropped = 0;
    },
  };
}

/** Reports refusals of every call, and failures of those that would have changed something. */
export function auditFailures(contract: Contract, audit: Audit): Layer {
  return onError((error, request) => {
    const code = error instanceof ConnectError ? error.code : Code.Internal;
    const call = request as UnaryRequest;
    const { validateOnly } = call.message as Message & { validateOnly?: boolean };
    const isMutation = contract.of(call.method).mutates && validateOnly !== true;
    if (isMutation || isDenial(code)) audit.report({ ...recordOf(contract, call), code: reasonOf(code) });
    throw error;
  });
}

/** Whether a code says that somebody may not do what they tried. */
export function isDenial(code: Code): boolean {
  return code === Code.Unauthenticated || code === Code.PermissionDenied;
}

/** The record of a call; `answer` is what it gives where it succeeds. */
export function recordOf(contract: Contract, call: UnaryRequest, answer?: Message): AuditRecord {
  const { method, message, header, contextValues } = call;
  const { authorization } = contract.of(method);
  const { subject: caller, issuer } = knownCallerOf(contextValues) ?? { subject: "", issuer: "" };
  const place = authorization.kind === "scoped" ? authorization.scope.uidOf(message) : textOf(message, "parent", "uid");
  const scope = isUid(place) ? place : "";
  const isOfOne = /^(?:Update|Delete)/.test(method.name);
  return {
    ...nothing,
    caller,
    issuer,
    method: `${method.parent.typeName}/${method.name}`,
    scope,
    resource: isOfOne ? scope : answer === undefined ? "" : textOf(answer, "uid"),
    code: "OK",
    requestId: header.get("x-request-id") ?? "",
    count: 1,
  };
}

/** A record that says nothing; others fill it in. */
export const nothing: AuditRecord = {
  caller: "",
  issuer: "",
  method: "",
  scope: "",
  resource: "",
  code: "",
  requestId: "",
  count: 0,
};

/** The first of these fields that is a text and not empty. */
function textOf(message: Message, ...names: readonly string[]): string {
  const fields = message as unknown as Record<string, unknown>;
  const values = names.map((name) => fields[name]);
  return values.find((value): value is string => typeof value === "string" && value !== "") ?? "";
}
