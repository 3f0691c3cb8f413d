/** `platform serve`: runs the server until SIGINT or SIGTERM. Initialises an empty database, as `init` does. */
import { once } from "node:events";
import { Command } from "commander";
import { shortenPauses } from "../app/garbage-collection.ts";
import { type Peers, type RunningServer, startServer } from "../app/index.ts";
import type { Config } from "../config.ts";
import { createLogger } from "../log.ts";
import { settingsOf, withSettings } from "./settings.ts";
import { stopSignal } from "./stop-signal.ts";
import { welcome } from "./welcome.ts";
import type { WorkerPlace } from "./workers/messages.ts";
import { supervise } from "./workers/supervisor.ts";
import { joinPeers, workerPlace } from "./workers/worker.ts";

export function serveCommand(): Command {
  const command = withSettings(new Command("serve")).description("run the server");
  return command.action(async () => {
    const config = settingsOf(command);
    const place = workerPlace();
    if (place !== undefined) return serveAsWorker(config, place);
    const { signal } = stopSignal();
    if (config.workers === 1) return serve(config, signal);
    const status = await supervise(config, createLogger(config.logLevel, { format: config.logFormat }), signal);
    if (status !== 0) process.exit(status);
  });
}

/** Serves at the port of all workers, with a share of the threads. */
async function serveAsWorker(config: Config, place: WorkerPlace): Promise<void> {
  const { index, count, port, isFirstStart } = place;
  const { peers, signal, leave } = joinPeers(place);
  const listen = { ...config.listen, port };
  const maxLongQueries = Math.ceil(config.maxLongQueries / count);
  const worker = { index, isSilent: index > 0 || !isFirstStart, peers };
  try {
    await serve({ ...config, listen, maxLongQueries }, signal, worker);
  } finally {
    leave();
  }
}

/** A worker, for {@link serve}. */
interface ServingWorker {
  readonly index: number;
  /** Whether it prints nothing. */
  readonly isSilent: boolean;
  readonly peers: Peers;
}

/** Serves until `signal` is aborted. */
async function serve(config: Config, signal: AbortSignal, worker?: ServingWorker): Promise<void> {
  const { logLevel, logFormat: format } = config;
  const log = createLogger(logLevel, { format, ...(worker && { worker: worker.index }) });
  let server: RunningServer;
  try {
    server = await startServer(config, log, signal, worker?.peers);
  } catch (error) {
    if (error === signal.reason) return; // stopped while it waited for the database
    throw error;
  }
  if (config.gcTuning === "on") shortenPauses();
  if (!worker?.isSilent)
    process.stdout.write(`${addressesOf(server)}${noticeOf(config)}${await welcome(server, config)}`);
  if (!signal.aborted) await once(signal, "abort");
  log.info({ signal: signal.reason.message }, "stopping");
  await server.stop();
}

function addressesOf({ listenUrl, baseUrl }: RunningServer): string {
  return `platform listens on ${listenUrl}\n${baseUrl === listenUrl ? "" : `base URL ${baseUrl}\n`}`;
}

function noticeOf({ database }: Config): string {
  return database === "sqlite::memory:"
    ? "the database is in memory: all data is discarded when the server ends\n"
    : "";
}
