/** Tokens of profiles. */
import { setTimeout as sleep } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { PlatformError, refreshToken, renewalMs, type TokenRequest, type TokenSource } from "../client/index.ts";
import { tryLock } from "./lock-file.ts";
import {
  defaultProfile,
  isSameServer,
  type Profile,
  ProfileError,
  profileFile,
  readProfile,
  writeProfile,
} from "./profiles.ts";

/** How often a process looks whether another one has renewed the token. */
const pollMs = 50;
const maxWaitMs = 60_000;

/** The base URL of the server of a profile. Errors: ProfileError if there is no profile. */
export async function profileServer(name: string = defaultProfile): Promise<string> {
  return (await existingProfile(name)).server;
}

async function existingProfile(name: string): Promise<Profile> {
  const profile = await readProfile(name);
  if (profile === undefined) throw new ProfileError(`there is no profile ${name}; sign in with: platform login`);
  return profile;
}

/**
 * The tokens of a profile, renewed before they expire. Processes that use a profile renew its token one after the
 * other, since a refresh token is used once. Errors: ProfileError if there is no profile, if it is one of another
 * server than the token is for, or if there is nothing to renew it with.
 */
export function profileToken(name: string = defaultProfile): TokenSource {
  let refused: string | undefined;
  const isUsable = ({ token, expireTimeMs = Number.POSITIVE_INFINITY }: Profile) =>
    token !== refused && expireTimeMs - Date.now() > renewalMs;

  async function read(server: string): Promise<Profile> {
    const profile = await existingProfile(name);
    if (isSameServer(profile.server, server)) return profile;
    throw new ProfileError(`profile ${name} is of ${profile.server}; its tokens are not sent to ${server}`);
  }

  async function renew({ server, signal }: TokenRequest): Promise<string> {
    const release = await lockProfile(name, signal);
    try {
      const profile = await read(server);
      if (isUsable(profile)) return profile.token; // another process has renewed it
      if (profile.refreshToken === undefined) return unrenewed(profile);
      // Not ended with the call: the refresh token would be used up, and the next one lost.
      const next = await refreshToken({ server }, profile.refreshToken);
      await writeProfile(name, { ...profile, ...next });
      return next.token;
    } catch (error) {
      if (error instanceof PlatformError && error.code === Code.Unauthenticated)
        throw new ProfileError(`the session of profile ${name} has ended; sign in with: platform login`);
      throw error;
    } finally {
      await release();
    }
  }

  /** A token without a session is used until it has expired. */
  function unrenewed({ token, expireTimeMs = Number.POSITIVE_INFINITY }: Profile): string {
    if (token !== refused && expireTimeMs > Date.now()) return token;
    throw new ProfileError(`the token of profile ${name} is no longer valid; sign in with: platform login`);
  }

  return {
    async token(request) {
      const profile = await read(request.server);
      return isUsable(profile) ? profile.token : renew(request);
    },
    refused(token) {
      refused = token;
      return true;
    },
  };
}

/** Takes the lock of a profile, waiting for other processes. Returns how to release it. Errors: ProfileError. */
export async function lockProfile(name: string, signal?: AbortSignal): Promise<() => Promise<void>> {
  const lock = `${profileFile(name)}.lock`;
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    const attempt = await tryLock(lock);
    if ("release" in attempt) return attempt.release;
    if (waitedMs >= maxWaitMs)
      throw new ProfileError(`process ${attempt.owner} keeps profile ${name} locked; end it, or remove ${lock}`);
    await sleep(pollMs, undefined, { signal });
  }
}
