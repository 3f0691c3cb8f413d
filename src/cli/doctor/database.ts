/** Checks of an open database: its schema, keys, secrets, counters, deliveries, and the clock of its server. */
import { statSync } from "node:fs";
import { type Installation, openSecrets, StartFailure, storedSecrets } from "../../app/index.ts";
import { keysAt } from "../../auth/index.ts";
import type { Config } from "../../config/index.ts";
import { countDeliveries } from "../../delivery/index.ts";
import { type CounterFault, type Database, databasePath, importSetting, RefusedError } from "../../store/index.ts";
import { migrationAdvice, missingMigrations } from "../database.ts";
import { type CheckResult, countText, failure, ok, skipped, warning } from "./finding.ts";

const dayMs = 86_400_000;
const maxKeyAgeDays = 400;
/** Tokens are accepted up to a minute too early; leases of deliveries last longer. */
const clockWarnMs = 5000;
const clockFailMs = 60_000;
const maxDetails = 20;

/** Whether the schema is that of this version, and no import is unfinished. */
export async function checkSchema(database: Database): Promise<CheckResult> {
  try {
    const { length: pending } = await database.pendingMigrations();
    if (pending > 0) return warning(missingMigrations(pending), migrationAdvice);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return failure(
      error.message,
      "run the version of the program that the database was last used with, or a newer one",
    );
  }
  if ((await database.read.setting(importSetting)) !== undefined)
    return failure(
      "an import of a snapshot has not finished",
      "run `platform import snapshot` with the same file again",
    );
  const unfinished = await database.unfinishedMigrations();
  if (unfinished.length > 0)
    return {
      ...ok("the tables are those of this version, and servers of the version before can work on them"),
      advice: "`platform migrate --finish`, when no older server is left and none is to be started again",
      details: unfinished.map(({ name }) => `to finish: ${name}`),
    };
  return ok("the tables are those of this version");
}

/** How old the key is that signs. */
export function checkSigningKeys({ signingKeys }: Installation, nowMs: number): CheckResult {
  const signing = keysAt(signingKeys, nowMs).find(({ state }) => state === "signing");
  if (signing === undefined) return skipped("none is stored in the database");
  const { key, signTimeMs } = signing;
  if (signTimeMs === undefined) return skipped("the operator gives them");
  const days = Math.floor((nowMs - signTimeMs) / dayMs);
  const message = `${key.kid} has signed for ${countText(Math.max(days, 0), "day")}, ${countText(signingKeys.length, "key")} stored`;
  if (signTimeMs > nowMs + clockFailMs)
    return failure(`${key.kid} was made in the future`, "set the clock of this machine");
  if (days > maxKeyAgeDays) return warning(message, "`platform keys rotate` adds a key; nothing is interrupted");
  return ok(message);
}

/** Whether the secrets in resources open with the keys of this configuration. */
export async function checkSecrets(database: Database, config: Config): Promise<CheckResult> {
  let count = 0;
  const closed: string[] = [];
  let secrets: Awaited<ReturnType<typeof openSecrets>> | undefined;
  for await (const { sealed, place } of storedSecrets(database)) {
    count++;
    try {
      secrets ??= await openSecrets(database, config);
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      return failure(error.message, "set --secret-key to the key that they were encrypted with");
    }
    if (secrets.open(sealed, place) === undefined) closed.push(place);
  }
  if (closed.length > 0)
    return failure(
      `${closed.length} of ${countText(count, "secret")} cannot be decrypted`,
      "set --secret-key to the key that they were encrypted with",
      shortened(closed),
    );
  return ok(`${countText(count, "secret")} can be decrypted`);
}

/** Whether the counters of totals equal the rows. With `repair`, makes them equal. */
export async function checkCounters(database: Database, repair: boolean): Promise<CheckResult> {
  const faults = await database.findCounterFaults();
  if (faults.length === 0) return ok("all totals equal the rows");
  const details = shortened(faults.map(faultText));
  if (!repair)
    return failure(
      `${countText(faults.length, "total")} differ from the rows`,
      "`platform doctor --repair` corrects them, beside running servers; report it as a bug",
      details,
    );
  return { ...ok(`${countText(await database.correctCounters(), "total")} corrected`), details };
}

function faultText({ table, ancestor, class: counted, rows, counted: count }: CounterFault): string {
  const where = ancestor === "" ? "at the root" : ancestor;
  if (counted === "bytes") return `bytes of ${table} below ${where}: ${count} counted, ${rows} found`;
  return `${table} ${counted === "below" ? "below" : "directly below"} ${where}: ${count} counted, ${rows} found`;
}

/** Reads a whole SQLite file. */
export async function checkIntegrity(database: Database): Promise<CheckResult> {
  const damage = await database.findDamage();
  if (damage === undefined) return skipped("PostgreSQL checks its own files (data_checksums, pg_amcheck)");
  if (damage.length === 0) return ok("the file is not damaged");
  return failure(
    "the file is damaged",
    "stop the server; restore the latest backup (docs/backup.md); find out what the disk has",
    shortened(damage),
  );
}

/** Whether deliveries of events were given up. */
export async function checkDeliveries(database: Database): Promise<CheckResult> {
  const counts = await countDeliveries(database);
  const withDead = counts.filter(({ dead }) => dead > 0);
  const pending = counts.reduce((sum, count) => sum + count.pending, 0);
  if (withDead.length === 0) return ok(`none was given up, ${pending.toLocaleString("en")} pending`);
  const dead = withDead.reduce((sum, count) => sum + count.dead, 0);
  return warning(
    `${dead.toLocaleString("en")} were given up`,
    "`platform events list --state dead` shows why; once the receiver works: `platform events replay --subscription UID --state dead`",
    shortened(withDead.map(({ subscription, dead }) => `${subscription}: ${dead} given up`)),
  );
}

/** Whether audit records are removed one day. */
export function checkAuditLog(installation: Installation, config: Config): CheckResult {
  const days = config.auditRetentionDays ?? installation.auditRetentionDays;
  if (days !== undefined) return ok(`records are kept for ${countText(days, "day")}`);
  return warning(
    "records are kept for ever, as before there was a default",
    "set --audit-retention-days; new installations keep them for 400 days",
  );
}

/** Compares the clock of this machine with that of PostgreSQL and of issuers, or with the time of the last write. */
export async function checkClock(
  database: Database,
  url: string,
  issuersAheadMs: readonly number[],
): Promise<CheckResult> {
  const beforeMs = Date.now();
  const databaseMs = await database.clock();
  const databaseAheadMs = databaseMs === undefined ? [] : [databaseMs - (beforeMs + Date.now()) / 2];
  const path = databasePath(url);
  const lastWriteMs = path === undefined ? 0 : statSync(path).mtimeMs;
  const advice = "set the clock of this machine, and keep it by NTP: tokens, retention and deliveries rely on it";
  if (lastWriteMs > Date.now() + clockFailMs)
    return failure(`the database was written ${secondsText(lastWriteMs - Date.now())} in the future`, advice);
  // Where several report the time and one of them agrees, it is the others that are wrong.
  const [aheadMs] = [...databaseAheadMs, ...issuersAheadMs].sort((a, b) => Math.abs(a) - Math.abs(b));
  if (aheadMs === undefined) return ok("not before the last write; there is no other clock to compare it with");
  const message = `${secondsText(Math.abs(aheadMs))} ${aheadMs > 0 ? "behind" : "ahead of"} ${databaseMs === undefined ? "an issuer" : "PostgreSQL or an issuer"}`;
  if (Math.abs(aheadMs) > clockFailMs) return failure(message, advice);
  if (Math.abs(aheadMs) > clockWarnMs) return warning(message, advice);
  return ok(
    `less than ${clockWarnMs / 1000} s from the clock of ${databaseMs === undefined ? "an issuer" : "PostgreSQL or an issuer"}`,
  );
}

function secondsText(ms: number): string {
  return `${Math.round(ms / 1000).toLocaleString("en")} s`;
}

function shortened(details: readonly string[]): readonly string[] {
  return details.length <= maxDetails
    ? details
    : [...details.slice(0, maxDetails), `and ${(details.length - maxDetails).toLocaleString("en")} more`];
}
