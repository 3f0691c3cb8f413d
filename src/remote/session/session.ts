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
}

/** A day. */
const maxTimeoutMs = 86_400_000;

/** Adds the options of every command that calls a server. */
export function withSession(command: Command): Command {
  return command
    .addOption(
      new Option("--server <URL>", "base URL of the server").env("PLATFORM_SERVER").default("http://127.0.0.1:8080"),
    )
    .addOption(
      new Option("--token <TOKEN>", "access token; other users see arguments, but not the environment").env(
        "PLATFORM_TOKEN",
      ),
    )
    .option("--timeout <SECONDS>", "how long one call may take", "60");
}

/** Opens the session of a command and runs `run`. Errors of calls become failures that people understand. */
export async function inSession(command: Command, run: (session: Session) => Promise<void>): Promise<void> {
  const { server, token, timeout } = command.opts<{ server: string; token?: string; timeout: string }>();
  if (!/^https?:$/.test(URL.parse(server)?.protocol ?? ""))
    throw new CommandFailure(`--server must be an http or https URL, not ${JSON.stringify(server)}`, 2);
  const timeoutMs = Number(timeout) * 1000;
  if (!(timeoutMs > 0 && timeoutMs <= maxTimeoutMs))
    throw new CommandFailure(`--timeout must be more than 0 and at most a day, not ${JSON.stringify(timeout)}`, 2);
  const transport = createPlatformTransport({ server, timeoutMs, retry: false, ...(token ? { token } : {}) });
  try {
    await run({ server, transport });
  } catch (error) {
    throw error instanceof PlatformError ? failureOfCall(error, server) : error;
  }
}
