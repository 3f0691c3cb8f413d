/** Which server a command calls, and as whom: by its options and the environment. */
import type { Transport } from "@connectrpc/connect";
import { type Command, Option } from "commander";
import { createPlatformTransport, PlatformError } from "../../client/index.ts";
import { CommandFailure } from "../../command-failure.ts";
import { failureOfCall } from "./failure.ts";

/** A server, and who calls it. */
export interface Session {
  /** The base URL of the server. */
  readonly server: string;
  readonly transport: Transport;
  /** Milliseconds that one call may take. */
  readonly timeoutMs: number;
}

/** A day. */
const maxTimeoutMs = 86_400_000;

/** The server and the token. */
export interface SessionOptions {
  readonly server: string;
  /** None if it is missing or empty. */
  readonly token?: string | undefined;
}

const serverOption = new Option("--server <URL>", "base URL of the server")
  .env("PLATFORM_SERVER")
  .default("http://127.0.0.1:8080");
const tokenOption = new Option(
  "--token <TOKEN>",
  "access token; other users see arguments, but not the environment",
).env("PLATFORM_TOKEN");

/** Adds the options of every command that calls a server. */
export function withSession(command: Command): Command {
  return command
    .addOption(serverOption)
    .addOption(tokenOption)
    .option("--timeout <SECONDS>", "how long one call may take", "60");
}

/** The options of a command line that is not complete. @param given by `--server`. */
export function sessionOptions(given: ReadonlyMap<string, string>): SessionOptions {
  const textOf = ({ long, envVar }: Option) => given.get(long!) ?? process.env[envVar!];
  return { server: textOf(serverOption) ?? serverOption.defaultValue, token: textOf(tokenOption) };
}

/** Opens the session of a command and runs `run`. Errors of calls become failures that people understand. */
export async function inSession(command: Command, run: (session: Session) => Promise<void>): Promise<void> {
  const { timeout, ...options } = command.opts<SessionOptions & { timeout: string }>();
  const timeoutMs = Number(timeout) * 1000;
  if (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw new CommandFailure(`--timeout must be more than 0 and at most a day, not ${JSON.stringify(timeout)}`, 2);
  const session = openSession(options, timeoutMs);
  try {
    await run(session);
  } catch (error) {
    throw error instanceof PlatformError ? failureOfCall(error, session.server) : error;
  }
}

/** Opens a session. @param timeoutMs of each call. Errors: CommandFailure if the server's address is no URL. */
export function openSession({ server, token }: SessionOptions, timeoutMs: number): Session {
  if (!/^https?:$/.test(URL.parse(server)?.protocol ?? ""))
    throw new CommandFailure(`--server must be an http or https URL, not ${JSON.stringify(server)}`, 2);
  return { server, timeoutMs, transport: createPlatformTransport({ server, timeoutMs, ...(token ? { token } : {}) }) };
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
