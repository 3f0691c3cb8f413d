/** What a database says about itself once it is initialised: issuer, keys, the first group and its administrator. */
import { randomBytes } from "node:crypto";
import { generateSigningKey, type StoredKey } from "../auth/index.ts";
import { ensureAdministrator, ensureFirstGroup, storeBuiltInRoles } from "../services/index.ts";
import type { Database, ReadSession } from "../store/index.ts";
import { newUid } from "../uid.ts";

/** An initialised database's own facts. */
export interface Installation {
  /** `iss` of the platform's own tokens; never changes. */
  readonly issuerUrl: string;
  /** Whoever reads them can sign tokens. */
  readonly signingKeys: readonly StoredKey[];
  /** 32 bytes. */
  readonly pageTokenKey: Uint8Array;
  readonly rootGroupUid: string;
  readonly administratorUid: string;
}

const settingName = "installation";

/** undefined before {@link install}. */
export async function readInstallation(session: ReadSession): Promise<Installation | undefined> {
  const bytes = await session.setting(settingName);
  if (bytes === undefined) return undefined;
  const stored = JSON.parse(Buffer.from(bytes).toString("utf8"));
  return { ...stored, pageTokenKey: Buffer.from(stored.pageTokenKey, "base64") };
}

/** Initialises a migrated database; undefined when it is already, by whomever. */
export async function install(
  database: Database,
  issuerUrl: string,
  now: () => number,
): Promise<Installation | undefined> {
  const signingKeys = [await generateSigningKey(now)];
  return database.transact(async (session) => {
    if ((await session.setting(settingName)) !== undefined) return undefined;
    const rootGroupUid = newUid("");
    await ensureFirstGroup(session, rootGroupUid, now());
    const administratorUid = await ensureAdministrator(session, rootGroupUid, issuerUrl, now());
    const installation = { issuerUrl, signingKeys, pageTokenKey: randomBytes(32), rootGroupUid, administratorUid };
    await session.addSetting(settingName, encode(installation));
    return installation;
  });
}

/** Brings back an administrator who was deleted or unbound, and the first group when it is gone. */
export async function recoverAdministrator(
  database: Database,
  { rootGroupUid, issuerUrl }: Installation,
  now: () => number,
): Promise<void> {
  await database.transact(async (session) => {
    await ensureFirstGroup(session, rootGroupUid, now());
    await ensureAdministrator(session, rootGroupUid, issuerUrl, now());
  });
}

/** Brings the rows that come with the server up to this version. */
export async function refreshBuiltIns(database: Database, now: () => number): Promise<void> {
  await database.transact((session) => storeBuiltInRoles(session, now()));
}

function encode(installation: Installation): Uint8Array {
  return Buffer.from(
    JSON.stringify({ ...installation, pageTokenKey: Buffer.from(installation.pageTokenKey).toString("base64") }),
  );
}
