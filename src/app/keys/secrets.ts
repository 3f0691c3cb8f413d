/**
 * The keys of the secrets in a database. A small text, sealed with the key in use, stands in its settings, so that a
 * start with other keys fails at once.
 */
import { randomBytes } from "node:crypto";
import type { Config } from "../../config/index.ts";
import { idempotentAnswers } from "../../pipeline/index.ts";
import { createSecrets, type Secrets } from "../../resource/index.ts";
import { type SealedKind, sealedKinds } from "../../services/index.ts";
import type { Database, Row } from "../../store/index.ts";
import { StartFailure } from "../failure.ts";

const ownKeyName = "secret_key";
const checkName = "secret_check";
const checkText = "platform";
const batchSize = 200;
/** How often all secrets are gone through, while servers may seal with another key. */
const maxPasses = 3;

/** Responses that are kept for idempotency keys. */
const answers: SealedKind = {
  name: "idempotent responses",
  table: idempotentAnswers,
  read: ({ uid, body }) => ({ sealed: Buffer.from(body).toString("latin1"), place: uid }),
  write: (row, sealed) => ({ ...row, body: Buffer.from(sealed, "latin1") }),
  discard: () => undefined,
};

const kinds: readonly SealedKind[] = [...sealedKinds, answers];

/** The database's own key for secrets in its rows, 32 bytes. It is created when first needed. */
export async function ensureSecretKey(database: Database): Promise<Uint8Array> {
  const known = await database.read.setting(ownKeyName);
  return (
    known ??
    database.transact(async (session) => {
      const made = randomBytes(32);
      return (await session.addSetting(ownKeyName, made)) ? made : (await session.setting(ownKeyName))!;
    })
  );
}

/** The keys of the setting, then the database's own, which always opens. */
async function keysOf(database: Database, { secretKey }: Pick<Config, "secretKey">): Promise<readonly Uint8Array[]> {
  const own = await ensureSecretKey(database);
  return [...secretKey.map((key) => (key === "database" ? own : key)), own];
}

/** The secrets in rows, with the places that they are sealed for. */
export async function* storedSecrets({ read }: Database): AsyncGenerator<NonNullable<ReturnType<SealedKind["read"]>>> {
  for (const kind of kinds) {
    for await (const rows of read.pages(kind.table, { limit: batchSize }))
      yield* rows.flatMap((row) => kind.read(row) ?? []);
  }
}

/** Opens the secrets of a database. Errors: StartFailure if the keys do not open what is stored. */
export async function openSecrets(database: Database, config: Pick<Config, "secretKey">): Promise<Secrets> {
  const secrets = createSecrets(await keysOf(database, config));
  if (!(await opensStored(database, secrets)))
    throw new StartFailure(
      "--secret-key: the secrets in the database were encrypted with another key; give that key too, separated by a " +
        "comma, or run `platform secrets rotate --discard-lost` if it is lost",
    );
  return secrets;
}

/** Whether the keys open the text that is sealed for this check or, before there is one, a secret of each kind. */
async function opensStored(database: Database, secrets: Secrets): Promise<boolean> {
  const check = await database.read.setting(checkName);
  if (check !== undefined) return secrets.open(textOf(check), checkName) === checkText;
  for (const kind of kinds) {
    for await (const rows of database.read.pages(kind.table, { limit: batchSize })) {
      const [found] = rows.flatMap((row) => kind.read(row) ?? []);
      if (found === undefined) continue;
      if (secrets.open(found.sealed, found.place) === undefined) return false;
      break;
    }
  }
  await database.transact((session) => session.addSetting(checkName, sealedCheck(secrets)));
  return true;
}

function sealedCheck(secrets: Secrets): Uint8Array {
  return Buffer.from(secrets.seal(checkText, checkName), "latin1");
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

/** How many secrets of one kind there are, and what has happened to them. */
export interface ResealedKind {
  readonly kind: string;
  readonly secrets: number;
  readonly resealed: number;
  /** Those that no key opens. */
  readonly lost: number;
  /** The rows whose secrets were lost and have been discarded. */
  readonly discarded: readonly string[];
}

/**
 * Seals every secret with the first key of the setting, beside running servers. An interrupted run is continued by the
 * next. Secrets that no key opens stay, unless `discardsLost`. `isComplete`: whether no secret is left under another
 * key.
 */
export async function rotateSecrets(
  database: Database,
  config: Pick<Config, "secretKey">,
  discardsLost: boolean,
  now: () => number,
): Promise<{ readonly kinds: readonly ResealedKind[]; readonly isComplete: boolean }> {
  const keys = await keysOf(database, config);
  const [current, all] = [createSecrets(keys.slice(0, 1)), createSecrets(keys)];
  let report: readonly ResealedKind[] = [];
  for (let pass = 0; pass < maxPasses; pass++) {
    const passed: ResealedKind[] = [];
    for (const kind of kinds) passed.push(await reseal(database, kind, { current, all, discardsLost, now }));
    report = passed.map((kind, i) => ({
      ...kind,
      resealed: kind.resealed + (report[i]?.resealed ?? 0),
      discarded: [...(report[i]?.discarded ?? []), ...kind.discarded],
    }));
    if (passed.some(({ resealed, discarded }) => resealed + discarded.length > 0)) continue;
    const isComplete = report.every(({ lost }) => lost === 0);
    if (isComplete) await database.transact((session) => session.putSetting(checkName, sealedCheck(current)));
    return { kinds: report, isComplete };
  }
  return { kinds: report, isComplete: false };
}

/** What {@link reseal} needs. */
interface Resealing {
  /** With the key that seals. */
  readonly current: Secrets;
  /** With every key. */
  readonly all: Secrets;
  readonly discardsLost: boolean;
  readonly now: () => number;
}

/** Goes through the secrets of one kind, and writes those that the current key does not open, a few at a time. */
async function reseal(database: Database, kind: SealedKind, resealing: Resealing): Promise<ResealedKind> {
  const { current, all, discardsLost, now } = resealing;
  let [secrets, resealed, lost] = [0, 0, 0];
  const discarded: string[] = [];
  const isCurrent = (row: Row) => {
    const found = kind.read(row);
    return found === undefined || current.open(found.sealed, found.place) !== undefined;
  };
  for await (const rows of database.read.pages(kind.table, { limit: batchSize })) {
    secrets += rows.filter((row) => kind.read(row) !== undefined).length;
    const due = rows.filter((row) => !isCurrent(row));
    if (due.length === 0) continue;
    const done = await database.transact(async (session) => {
      const batch = { resealed: 0, lost: 0, discarded: [] as string[] };
      for (const { uid } of due) {
        const row = await session.getToChange(kind.table, uid);
        const found = row && kind.read(row);
        if (row === undefined || found === undefined || isCurrent(row)) continue; // changed meanwhile
        const opened = all.open(found.sealed, found.place);
        if (opened !== undefined) {
          await session.update(kind.table, kind.write(row, current.seal(opened, found.place)));
          batch.resealed++;
        } else if (discardsLost) {
          const left = kind.discard(row, (secret) => current.seal(secret, found.place), now());
          if (left === undefined) await session.remove(kind.table, uid);
          else await session.update(kind.table, left);
          batch.discarded.push(uid);
        } else batch.lost++;
      }
      return batch;
    });
    resealed += done.resealed;
    lost += done.lost;
    discarded.push(...done.discarded);
  }
  return { kind: kind.name, secrets, resealed, lost, discarded };
}
