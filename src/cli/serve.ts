/** `platform serve`: runs the server until SIGINT or SIGTERM. Initialises an empty database, as `init` does. */
import { once } from "node:events";
import { Command } from "commander";
import { shortenPauses } from "../app/garbage-collection.ts";
import { type RunningServer, startServer } from "../app/index.ts";
import type { Config } from "../config.ts";
import { createLogger } from "../log.ts";
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
      if (error === signal.reason) return; // stopped while it waited for the database
      throw error;
    }
    if (config.gcTuning === "on") shortenPauses();
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
