/** What an initialised database stores about itself: issuer, keys, the first group and its administrator. */
import { randomBytes } from "node:crypto";
import { generateSigningKey, keysAt, type StoredKey } from "../auth/index.ts";
import type { Config } from "../config.ts";
import { type CallEnvironment, createPageTokens, createSecrets } from "../resource/index.ts";
import { ensureAdministrator, ensureFirstGroup, installationSetting, storeBuiltInRoles } from "../services/index.ts";
import type { Database, ReadSession } from "../store/index.ts";
import { newUid } from "../uid.ts";

/** What an initialised database stores about itself. */
export interface Installation {
  /** `iss` of the platform's own tokens; never changes. */
  readonly issuerUrl: string;
  /** Secret: whoever reads them can sign tokens. */
  readonly signingKeys: readonly StoredKey[];
  /** 32 bytes. */
  readonly pageTokenKey: Uint8Array;
  readonly rootGroupUid: string;
  readonly administratorUid: string;
}

/** How the installation as a whole is changed, by one program at a time. */
const serializable = { isSerializable: true };
const secretKeyName = "secret_key";
/** Maximum number of keys that have not retired: relying parties limit the size of a key set. */
const maxSigningKeys = 20;

/** Reads the installation; undefined before {@link install}. */
export async function readInstallation(session: ReadSession): Promise<Installation | undefined> {
  const bytes = await session.setting(installationSetting);
  if (bytes === undefined) return undefined;
  const stored = JSON.parse(Buffer.from(bytes).toString("utf8"));
  return { ...stored, pageTokenKey: Buffer.from(stored.pageTokenKey, "base64") };
}

/** Initialises a migrated database; undefined if it is initialised already. */
export async function install(
  database: Database,
  issuerUrl: string,
  now: () => number,
): Promise<Installation | undefined> {
  const signingKeys = [await generateSigningKey(now)];
  return database.transact(async (session) => {
    if ((await session.setting(installationSetting)) !== undefined) return undefined;
    const rootGroupUid = newUid("");
    await ensureFirstGroup(session, rootGroupUid, now());
    const administratorUid = await ensureAdministrator(session, rootGroupUid, issuerUrl, now());
    const installation = { issuerUrl, signingKeys, pageTokenKey: randomBytes(32), rootGroupUid, administratorUid };
    await session.addSetting(installationSetting, encode(installation));
    return installation;
  }, serializable);
}

/** The database's own key for secrets in its rows, 32 bytes. It is created when first needed. */
export async function ensureSecretKey(database: Database): Promise<Uint8Array> {
  const known = await database.read.setting(secretKeyName);
  return (
    known ??
    database.transact(async (session) => {
      const made = randomBytes(32);
      return (await session.addSetting(secretKeyName, made)) ? made : (await session.setting(secretKeyName))!;
    })
  );
}

/** What calls need of the installation and the settings. */
export async function readEnvironment(
  database: Database,
  { pageTokenKey, issuerUrl }: Installation,
  config: Config,
  baseUrl: string,
): Promise<Omit<CallEnvironment, "session" | "nowMs" | "changes">> {
  const ownSecretKey = await ensureSecretKey(database);
  return {
    pageTokens: createPageTokens(config.pageTokenKey ?? pageTokenKey),
    secrets: createSecrets(config.secretKey === undefined ? [ownSecretKey] : [config.secretKey, ownSecretKey]),
    baseUrl,
    issuerUrl,
    allowLoopbackIssuers: config.allowLoopbackIssuers,
    maxPatternIdentities: config.maxPatternIdentities,
    quotas: config.quotas,
  };
}

/** A rotation that is refused; the message says why. */
export class RotationRefused extends Error {}

/**
 * Adds a signing key, which signs once it has been published long enough, and drops retired keys. Errors:
 * RotationRefused while the previous key does not sign yet, or while too many keys have not retired.
 */
export async function rotateSigningKeys(database: Database, now: () => number): Promise<readonly StoredKey[]> {
  const added = await generateSigningKey(now);
  return database.transact(async (session) => {
    const installation = await readInstallation(session);
    if (installation === undefined) throw new Error("the database is not initialised");
    const kept = keysAt(installation.signingKeys, now()).filter(({ state }) => state !== "retired");
    const waiting = kept.find(({ state }) => state === "published");
    if (waiting !== undefined)
      throw new RotationRefused(`the newest key signs only from ${new Date(waiting.signTimeMs).toISOString()} on`);
    if (kept.length >= maxSigningKeys)
      throw new RotationRefused(`${kept.length} keys still verify tokens that they have signed`);
    const signingKeys = [...kept.map(({ key }) => key), added];
    await session.putSetting(installationSetting, encode({ ...installation, signingKeys }));
    return signingKeys;
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
