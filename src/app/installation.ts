/** What an initialised database stores about itself: issuer, keys, the first group and its administrator. */
import { randomBytes } from "node:crypto";
import { generateSigningKey, type StoredKey } from "../auth/index.ts";
import type { Config } from "../config/index.ts";
import { newUid } from "../new-uid.ts";
import { createPageTokens, type ServerEnvironment } from "../resource/index.ts";
import { ensureAdministrator, ensureFirstGroup, installationSetting, storeBuiltInRoles } from "../services/index.ts";
import type { Database, ReadSession, WriteSession } from "../store/index.ts";
import { openSecrets } from "./keys/secrets.ts";

/** What an initialised database stores about itself. */
export interface Installation {
  /** `iss` of the platform's own tokens; never changes. */
  readonly issuerUrl: string;
  /** Secret: anyone who reads them can sign tokens. None where the operator gives the keys. */
  readonly signingKeys: readonly StoredKey[];
  /** The `kid` of every key that was revoked. */
  readonly revokedKeys: readonly string[];
  /** 32 bytes. */
  readonly pageTokenKey: Uint8Array;
  readonly rootGroupUid: string;
  readonly administratorUid: string;
  /** How long audit records are kept where no setting says it; absent in older installations, which keep all. */
  readonly auditRetentionDays?: number;
}

const auditRetentionDays = 400;

/** How the installation as a whole is changed, by one program at a time. */
const serializable = { isSerializable: true };

/** Reads the installation; undefined before {@link install}. */
export async function readInstallation(session: ReadSession): Promise<Installation | undefined> {
  const bytes = await session.setting(installationSetting);
  if (bytes === undefined) return undefined;
  const stored = JSON.parse(Buffer.from(bytes).toString("utf8"));
  return { revokedKeys: [], ...stored, pageTokenKey: Buffer.from(stored.pageTokenKey, "base64") };
}

/**
 * Initialises a migrated database; undefined if it is initialised already. `hasGivenKeys`: whether the operator gives
 * the signing keys, so that the database needs none.
 */
export async function install(
  database: Database,
  issuerUrl: string,
  now: () => number,
  hasGivenKeys = false,
): Promise<Installation | undefined> {
  const signingKeys = hasGivenKeys ? [] : [await generateSigningKey(now)];
  return database.transact(async (session) => {
    if ((await session.setting(installationSetting)) !== undefined) return undefined;
    const rootGroupUid = newUid("");
    await ensureFirstGroup(session, rootGroupUid, now());
    const administratorUid = await ensureAdministrator(session, rootGroupUid, issuerUrl, now());
    const keys = { signingKeys, revokedKeys: [], pageTokenKey: randomBytes(32) };
    const installation = { issuerUrl, ...keys, rootGroupUid, administratorUid, auditRetentionDays };
    await session.addSetting(installationSetting, encode(installation));
    return installation;
  }, serializable);
}

/** What calls need of the installation and the settings. */
export async function readEnvironment(
  database: Database,
  { pageTokenKey, issuerUrl }: Installation,
  config: Config,
  baseUrl: string,
): Promise<ServerEnvironment> {
  return {
    pageTokens: createPageTokens(config.pageTokenKey ?? pageTokenKey),
    secrets: await openSecrets(database, config),
    baseUrl,
    issuerUrl,
    allowLoopbackIssuers: config.allowLoopbackIssuers,
    maxPatterns: config.maxPatterns,
    quotas: config.quotas,
  };
}

/** Replaces the installation by what `change` makes of it, in one transaction. */
export async function changeInstallation(
  database: Database,
  change: (installation: Installation, session: WriteSession) => Promise<Installation>,
): Promise<Installation> {
  return database.transact(async (session) => {
    const installation = await readInstallation(session);
    if (installation === undefined) throw new Error("the database is not initialised");
    const changed = await change(installation, session);
    await session.putSetting(installationSetting, encode(changed));
    return changed;
  }, serializable);
}

/** Restores the administrator after they were deleted or lost their role, and the first group if it was deleted. */
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

/** Updates the rows that come with the server to this version. */
export async function refreshBuiltIns(database: Database, now: () => number): Promise<void> {
  await database.transact((session) => storeBuiltInRoles(session, now()));
}

function encode(installation: Installation): Uint8Array {
  return Buffer.from(
    JSON.stringify({ ...installation, pageTokenKey: Buffer.from(installation.pageTokenKey).toString("base64") }),
  );
}
