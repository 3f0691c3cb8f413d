/** Which server a command calls, and as whom: by its options, the environment and a profile. */
import type { Transport } from "@connectrpc/connect";
import { type Command, Option } from "commander";
import {
  createPlatformTransport,
  PlatformError,
  sendableTokens,
  staticToken,
  type TokenSource,
} from "../../client/index.ts";
import { defaultProfile, isSameServer, type Profile, profileToken, readProfile } from "../../client-node/index.ts";
import { CommandFailure } from "../../command/index.ts";
import { caOption, trustAuthorities } from "./authority.ts";
import { failureOfCall, failureOfProfile } from "./failure.ts";

/** A server, and who calls it. */
export interface Session {
  /** The base URL of the server. */
  readonly server: string;
  readonly transport: Transport;
  /** Milliseconds that one call may take. */
  readonly timeoutMs: number;
  /** undefined to call without one. */
  readonly token: TokenSource | undefined;
  /** The name of the profile that the token is of. */
  readonly profile: string | undefined;
}

/** A day. */
const maxTimeoutMs = 86_400_000;
const defaultServer = "http://127.0.0.1:8080";

/** What chooses a server and a token. */
export interface SessionOptions {
  readonly server?: string | undefined;
  /** The name of a profile. */
  readonly profile?: string | undefined;
  /** Missing or empty for that of the profile. */
  readonly token?: string | undefined;
  /** A file of certificates ({@link trustAuthorities}). */
  readonly ca?: string | undefined;
}

const serverOption = new Option(
  "--server <URL>",
  `base URL of the server (default: that of the profile, else ${defaultServer})`,
).env("PLATFORM_SERVER");
const tokenOption = new Option(
  "--token <TOKEN>",
  "access token; other users see arguments, but not the environment",
).env("PLATFORM_TOKEN");

/** `--profile`. */
export const profileOption = new Option(
  "--profile <NAME>",
  `what \`platform login\` has written (default: ${defaultProfile})`,
).env("PLATFORM_PROFILE");

/** Adds the options of every command that calls a server. */
export function withSession(command: Command): Command {
  return withProfile(command).addOption(tokenOption).option("--timeout <SECONDS>", "how long one call may take", "60");
}

/** Adds the options that choose a server and a profile. */
export function withProfile(command: Command): Command {
  return command.addOption(serverOption).addOption(profileOption).addOption(caOption);
}

/** The options of a command line that is not complete. @param given by `--server`. */
export function sessionOptions(given: ReadonlyMap<string, string>): SessionOptions {
  const textOf = ({ long, envVar }: Option) => given.get(long!) ?? process.env[envVar!];
  return {
    server: textOf(serverOption),
    profile: textOf(profileOption),
    token: textOf(tokenOption),
    ca: textOf(caOption),
  };
}

/** What {@link withProfile} chose. */
export interface ChosenProfile {
  readonly server: string;
  readonly name: string;
  /** The profile of that name; undefined if it does not exist, or is of another server. */
  readonly profile: Profile | undefined;
}

async function chosenProfile({ server, profile: name = defaultProfile, ca }: SessionOptions): Promise<ChosenProfile> {
  if (server !== undefined) checkServer(server);
  if (ca) trustAuthorities(ca);
  const profile = await readProfile(name);
  if (server === undefined) return { server: profile?.server ?? defaultServer, name, profile };
  const isOfServer = profile !== undefined && isSameServer(profile.server, server);
  return { server, name, profile: isOfServer ? profile : undefined };
}

/** Errors: CommandFailure without what is before an `@`, which may be a password. */
function checkServer(server: string): void {
  if (server.includes("@")) throw new CommandFailure("--server must be a URL without a user or a password", 2);
  if (!/^https?:$/.test(URL.parse(server)?.protocol ?? ""))
    throw new CommandFailure(`--server must be an http or https URL, not ${JSON.stringify(server)}`, 2);
}

/** Opens the session of a command and runs `run`. Errors of calls become failures that people understand. */
export async function inSession(command: Command, run: (session: Session) => Promise<void>): Promise<void> {
  const { timeout, ...options } = command.opts<SessionOptions & { timeout: string }>();
  const timeoutMs = Number(timeout) * 1000;
  if (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw new CommandFailure(`--timeout must be more than 0 and at most a day, not ${JSON.stringify(timeout)}`, 2);
  await withChosenProfile(options, (chosen) => run(sessionOf(chosen, options, timeoutMs)));
}

/** The base URL that `--server`, the environment or a profile choose; undefined if none of them does. */
export async function chosenServer(options: SessionOptions): Promise<string | undefined> {
  let found: string | undefined;
  await withChosenProfile(options, async ({ server, profile }) => {
    if (options.server !== undefined || profile !== undefined) found = server;
  });
  return found;
}

/**
 * Opens a session. @param timeoutMs of each call. Errors: CommandFailure if the server's address is not a URL, or the
 * profile named is not one of the server; ProfileError.
 */
export async function openSession(options: SessionOptions, timeoutMs: number): Promise<Session> {
  return sessionOf(await chosenProfile(options), options, timeoutMs);
}

function sessionOf({ server, name, profile }: ChosenProfile, options: SessionOptions, timeoutMs: number): Session {
  if (!options.token && profile === undefined && options.profile !== undefined)
    throw new CommandFailure(`profile ${name} is not signed in to ${server}; use: platform login`, 4);
  const source = options.token ? staticToken(options.token) : profile && profileToken(name);
  const token = source && sendableTokens(source);
  const transport = createPlatformTransport({ server, timeoutMs, retry: false, ...(token && { token }) });
  return { server, timeoutMs, transport, token, profile: options.token ? undefined : profile && name };
}

/** The session, whose calls fail with DEADLINE_EXCEEDED at `endMs` of `performance.now()` at the latest. */
export function sessionUntil(session: Session, endMs: number): Session {
  const { transport, timeoutMs } = session;
  const unary: Transport["unary"] = (method, signal, _timeoutMs, header, message, values) => {
    const leftMs = Math.max(1, Math.ceil(endMs - performance.now()));
    return transport.unary(method, signal, Math.min(timeoutMs, leftMs), header, message, values);
  };
  return { ...session, transport: { ...transport, unary } };
}

/** Reads the profile and runs `run`. Errors of calls and of profiles become failures that people understand. */
export async function withChosenProfile(
  options: SessionOptions,
  run: (chosen: ChosenProfile) => Promise<void>,
): Promise<void> {
  let server = "";
  try {
    const chosen = await chosenProfile(options);
    server = chosen.server;
    await run(chosen);
  } catch (error) {
    throw error instanceof PlatformError ? failureOfCall(error, server) : (failureOfProfile(error) ?? error);
  }
}
