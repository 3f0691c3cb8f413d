/** `platform serve`: runs the server until it is told to stop. On an empty database it first does what `init` does. */
import { once } from "node:events";
import { Command } from "commander";
import { shortenPauses } from "../collector.ts";
import type { Config } from "../config.ts";
import { createLogger } from "../log.ts";
import { type RunningServer, startServer } from "../server/index.ts";
import { settingsOf, withSettings } from "./settings.ts";
import { stopSignal } from "./stop-signal.ts";
import { welcome } from "./welcome.ts";

export function serveCommand(): Command {
  const command = withSettings(new Command("serve")).description("run the server");
  return command.action(async () => {
    const config = settingsOf(command);
    const log = createLogger(config.logLevel);
    const { signal } = stopSignal();
    let server: RunningServer;
    try {
      server = await startServer(config, log, signal);
    } catch (error) {
      if (error === signal.reason) return; // it was told to stop while it waited for the database
      throw error;
    }
    shortenPauses();
    process.stdout.write(`${addressesOf(server)}${noticeOf(config)}${await welcome(server, config)}`);
    if (!signal.aborted) await once(signal, "abort");
    log.info({ signal: signal.reason.message }, "stopping");
    await server.stop();
  });
}

function addressesOf({ listenUrl, baseUrl }: RunningServer): string {
  return `platform listens on ${listenUrl}\n${baseUrl === listenUrl ? "" : `base URL ${baseUrl}\n`}`;
}

function noticeOf({ database }: Config): string {
  return database === "sqlite::memory:"
    ? "the database is in memory: all data is discarded when the server ends\n"
    : "";
}
