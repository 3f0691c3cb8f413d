/** Which server a command calls, and as whom: by its options, the environment, or the profile. */
import type { Transport } from "@connectrpc/connect";
import { type Command, Option } from "commander";
import { createPlatformTransport, PlatformError, type TokenSource } from "../../client/index.ts";
import { CommandFailure } from "../../command-failure.ts";

/** A server, and who calls it. */
export interface Session {
  /** The base URL of the server. */
  readonly server: string;
  readonly token: TokenSource | undefined;
  readonly transport: Transport;
}

/** Adds the options of every command that calls a server. */
export function withSession(command: Command): Command {
  return command
    .addOption(new Option("--server <URL>", "the server (default: that of the profile)").env("PLATFORM_SERVER"))
    .addOption(new Option("--token <TOKEN>", "an access token").env("PLATFORM_TOKEN"));
}

/** Opens the session of a command and runs `run`. Errors of calls become failures that people understand. */
export async function inSession(command: Command, run: (session: Session) => Promise<void>): Promise<void> {
  const { server = "http://127.0.0.1:8080", token } = command.opts<{ server?: string; token?: string }>();
  const transport = createPlatformTransport({ server, ...(token === undefined ? {} : { token }) });
  try {
    await run({ server, token: undefined, transport });
  } catch (error) {
    if (error instanceof PlatformError) throw new CommandFailure(error.message);
    throw error;
  }
}
