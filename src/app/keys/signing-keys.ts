/** The signing keys of an installation: those in its database, and those that the operator gives. */
import { readFile } from "node:fs/promises";
import { type GivenKey, generateSigningKey, keysAt, parseGivenKeys, type SigningKey } from "../../auth/index.ts";
import { type Config, flagOf } from "../../config/index.ts";
import type { Database, WriteSession } from "../../store/index.ts";
import { StartFailure } from "../failure.ts";
import { changeInstallation, type Installation, readInstallation } from "../installation.ts";

/** The keys of an issuer, and how to read them again. */
export interface KeySource {
  readonly keys: readonly SigningKey[];
  read(): Promise<readonly SigningKey[]>;
}

/** Maximum number of keys that have not retired: relying parties limit the size of a key set. */
const maxSigningKeys = 20;

/**
 * Opens the keys. A file of keys is read again with those of the database. When that fails, the keys that it had stay,
 * and `onFailure` is called once for each reason. Errors: StartFailure if there is no key that can sign.
 */
export async function openSigningKeys(
  database: Database,
  installation: Installation,
  { signingKey: setting }: Pick<Config, "signingKey">,
  onFailure: (error: unknown) => void = () => {},
): Promise<KeySource> {
  let text = setting === undefined ? "" : await textOf(setting);
  let given = setting === undefined ? [] : await givenKeys(setting, text);
  const keys = unrevoked(installation, given);
  if (keys.length === 0)
    throw new StartFailure(
      setting === undefined
        ? "the database has no signing key: set --signing-key as before, or add a key with `platform keys rotate`"
        : `--signing-key: every key of ${nameOf(setting)} is revoked; put a new one into it`,
    );

  let failure: string | undefined;
  async function readGiven(): Promise<void> {
    if (setting === undefined || isContent(setting)) return;
    try {
      const current = await textOf(setting);
      if (current !== text) given = await givenKeys(setting, current);
      text = current;
      failure = undefined;
    } catch (error) {
      if (String(error) !== failure) onFailure(error);
      failure = String(error);
    }
  }

  return {
    keys,
    async read() {
      await readGiven();
      const current = await readInstallation(database.read);
      return current === undefined ? [] : unrevoked(current, given);
    },
  };
}

function unrevoked({ signingKeys, revokedKeys }: Installation, given: readonly GivenKey[]): readonly SigningKey[] {
  return [...given.filter(({ kid }) => !revokedKeys.includes(kid)), ...signingKeys];
}

function isContent(setting: string): boolean {
  return /^\s*(?:\{|-----BEGIN )/.test(setting);
}

/** How a message names the setting: its path. It never contains the content. */
function nameOf(setting: string): string {
  return isContent(setting) ? "its content" : setting;
}

async function textOf(setting: string): Promise<string> {
  if (isContent(setting)) return setting;
  return readFile(setting, "utf8").catch((error: Error) => {
    throw new StartFailure(`${flagOf("signingKey")}: ${setting} cannot be read: ${error.message}`, { cause: error });
  });
}

async function givenKeys(setting: string, text: string): Promise<readonly GivenKey[]> {
  try {
    return await parseGivenKeys(text);
  } catch (error) {
    throw new StartFailure(`${flagOf("signingKey")}: ${nameOf(setting)} ${(error as Error).message}`);
  }
}

/** A change of the keys that is refused; the message says why. */
export class KeyChangeRefused extends Error {}

/**
 * Adds a signing key, which signs once it has been published long enough, and drops retired keys. Errors:
 * KeyChangeRefused while the previous key does not sign yet, or while too many keys have not retired.
 */
export async function rotateSigningKeys(
  database: Database,
  now: () => number,
  record?: (session: WriteSession) => Promise<void>,
): Promise<Installation> {
  const added = await generateSigningKey(now);
  return changeInstallation(database, async (installation, session) => {
    const kept = keysAt(installation.signingKeys, now()).filter(({ state }) => state !== "retired");
    const waiting = kept.find(({ state }) => state === "published");
    if (waiting !== undefined)
      throw new KeyChangeRefused(`the newest key signs only from ${new Date(waiting.signTimeMs!).toISOString()} on`);
    if (kept.length >= maxSigningKeys)
      throw new KeyChangeRefused(`${kept.length} keys still verify tokens that they have signed`);
    await record?.(session);
    const remaining = new Set(kept.map(({ key }) => key.kid));
    return {
      ...installation,
      signingKeys: [...installation.signingKeys.filter(({ kid }) => remaining.has(kid)), added],
    };
  });
}

/** What a revocation has done. */
export interface Revocation {
  readonly installation: Installation;
  /** The key that signs now, where the revoked one did. */
  readonly successor: string | undefined;
}

/**
 * Revokes a key: servers refuse its tokens with the next call, and no start accepts it again. If it was the one of the
 * database that signs, the key that waits or else a new one signs at once. `given`: the keys that the operator gives.
 * Errors: KeyChangeRefused if there is no such key.
 */
export async function revokeSigningKey(
  database: Database,
  kid: string,
  given: readonly SigningKey[],
  now: () => number,
  record: (session: WriteSession) => Promise<void>,
): Promise<Revocation> {
  const fresh = await generateSigningKey(now);
  let successor: string | undefined;
  const installation = await changeInstallation(database, async (before, session) => {
    if (before.revokedKeys.includes(kid)) throw new KeyChangeRefused(`the key ${kid} is revoked already`);
    const isGiven = given.some((key) => key.kid === kid);
    const nowMs = now();
    const stored = keysAt(before.signingKeys, nowMs);
    const revoked = stored.find(({ key }) => key.kid === kid);
    if (revoked === undefined && !isGiven)
      throw new KeyChangeRefused(`there is no key ${kid}; \`platform keys list\` prints the keys`);
    const unretired = new Set(stored.filter(({ state }) => state !== "retired").map(({ key }) => key.kid));
    let signingKeys = before.signingKeys.filter((key) => key.kid !== kid && unretired.has(key.kid));
    successor = isGiven ? given.find((key) => key.kid !== kid)?.kid : undefined;
    if (revoked?.state === "signing" && given.length === 0) {
      const waiting = stored.find(({ state }) => state === "published")?.key.kid;
      if (waiting === undefined) signingKeys = [...signingKeys, fresh];
      successor = waiting ?? fresh.kid;
      const signTime = new Date(nowMs).toISOString();
      signingKeys = signingKeys.map((key) => (key.kid === successor ? { ...key, signTime } : key));
    }
    await record(session);
    session.countChange();
    return { ...before, signingKeys, revokedKeys: [...before.revokedKeys, kid] };
  });
  return { installation, successor };
}
