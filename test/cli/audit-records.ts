/** A database with records in its audit log. */
import { expect } from "vitest";
import { type AuditRecord, appendAudit, auditEntry, emptyRecord } from "../../src/audit/index.ts";
import type { Database } from "../../src/store/index.ts";
import { settingsIn, temporaryFolder } from "./platform-process.ts";
import { runHere } from "./run-here.ts";

export const record = (change: Partial<AuditRecord> = {}): AuditRecord => ({
  ...emptyRecord,
  caller: "me",
  method: "platform.iam.v2.GroupsService/CreateGroup",
  code: "OK",
  count: 1,
  ...change,
});

/** An initialised database in a folder. */
export async function installed() {
  const folder = await temporaryFolder();
  const { database: settings } = settingsIn(folder);
  expect((await runHere(["init", ...settings])).code).toBe(0);
  return { folder, settings, url: settings[1]! };
}

export async function write(database: Database, records: readonly AuditRecord[], timeMs = Date.now()) {
  const entries = records.map((one) => auditEntry(one, timeMs));
  await database.transact(async (session) => {
    for (const entry of entries) await appendAudit(session, entry);
  });
  return entries.map(({ id }) => id);
}
