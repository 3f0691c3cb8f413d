/**
 * Profiles: where somebody signed in, and the tokens received. Each is a file with mode 0600,
 * `$XDG_CONFIG_HOME/platform/profiles/NAME.json`; on Windows below `%APPDATA%`.
 */
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** The OpenID provider that somebody signed in with. */
export interface SignInProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly scope: string;
  /** uid of the identity provider at the server that was named or signed the user in; undefined if neither is known. */
  readonly identityProvider?: string | undefined;
}

/** A server, and the tokens for it. */
export interface Profile {
  /** Base URL of the server. No other one gets the tokens. */
  readonly server: string;
  readonly token: string;
  /** When the token expires, in milliseconds since 1970; undefined if it does not say. */
  readonly expireTimeMs?: number | undefined;
  /** Gets the next token, once. */
  readonly refreshToken?: string | undefined;
  /** Remembered for the next sign-in. */
  readonly provider?: SignInProvider | undefined;
}

/** A profile that cannot be used; the message says why. */
export class ProfileError extends Error {}

/** A profile whose name or file is not that of one. */
export class InvalidProfileError extends ProfileError {}

/** The profile that commands use when none is named. */
export const defaultProfile = "default";

/** Whether two base URLs are of the same server. */
export function isSameServer(a: string, b: string): boolean {
  const [first, second] = [a, b].map((url) => URL.canParse(url) && new URL(url).href.replace(/\/+$/, ""));
  return first !== false && first === second;
}

/** The file of a profile. Errors: InvalidProfileError if the name cannot be that of a file. */
export function profileFile(name: string): string {
  if (!/^[A-Za-z0-9][\w.@-]{0,63}$/.test(name))
    throw new InvalidProfileError(
      `a profile has a name of letters, digits and _.@-, at most 64, not ${JSON.stringify(name.slice(0, 100))}`,
    );
  const configuration = process.env.XDG_CONFIG_HOME || process.env.APPDATA || join(homedir(), ".config");
  return join(configuration, "platform", "profiles", `${name}.json`);
}

/**
 * Reads a profile; undefined if there is none. A file that others may read gets mode 0600. Errors: InvalidProfileError.
 */
export async function readProfile(name: string): Promise<Profile | undefined> {
  const file = profileFile(name);
  let text: string;
  try {
    text = await readFile(file, "utf8");
    await keepPrivate(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new InvalidProfileError(`cannot read the profile ${file}: ${(error as Error).message}`);
  }
  const profile = parsed(text);
  if (profile === undefined) throw new InvalidProfileError(`${file} is not a profile; remove it and sign in again`);
  return profile;
}

/** Takes the permissions of other users from a file, unless it belongs to somebody else. */
async function keepPrivate(file: string): Promise<void> {
  if (process.platform === "win32") return; // a mode says nothing about other users there
  const { mode, uid } = await stat(file);
  if ((mode & 0o077) === 0 || uid !== process.getuid!()) return;
  await chmod(file, 0o600).catch(() => {}); // on a read-only file system
}

/** Writes a profile at once: a reader sees the old file or the new one. */
export async function writeProfile(name: string, profile: Profile): Promise<void> {
  const file = profileFile(name);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(profile, undefined, 2)}\n`, { mode: 0o600, flush: true });
  await rename(temporary, file);
}

/** Removes a profile, if there is one. */
export async function removeProfile(name: string): Promise<void> {
  await rm(profileFile(name), { force: true });
}

function parsed(text: string): Profile | undefined {
  try {
    const profile = JSON.parse(text) as Profile | null;
    return typeof profile?.server === "string" && typeof profile.token === "string" ? profile : undefined;
  } catch {
    return undefined;
  }
}
