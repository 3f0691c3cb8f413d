/** `platform serve`: runs the server until SIGINT or SIGTERM. Initialises an empty database, as `init` does. */
import { once } from "node:events";
import { Command } from "commander";
import { shortenPauses } from "../app/garbage-collection.ts";
import { LiveSettings, type Peers, type RunningServer, startServer } from "../app/index.ts";
import { stopSignal } from "../command/index.ts";
import { type Config, readConfig } from "../config/index.ts";
import { createLogger, type Logger, type LoggerOptions } from "../log.ts";
import { joinedLines } from "../log-output.ts";
import { inheritedSocket } from "./inherited-socket.ts";
import { onHangUp, readAgain, takeSettings } from "./reload.ts";
import { settingsOf, sourcesOf, withSettings } from "./settings.ts";
import { onEndOfParent, prepareStandIn, removeReadyFile } from "./stand-in.ts";
import { welcome } from "./welcome.ts";
import type { WorkerPlace } from "./workers/messages.ts";
import { supervise } from "./workers/supervisor.ts";
import { joinPeers, workerPlace } from "./workers/worker.ts";

export function makeCommand(): Command {
  const command = withSettings(new Command("serve"));
  return command.action(async () => {
    const config = settingsOf(command);
    const reread = (log: Logger) => readConfig({ ...sourcesOf(command), warn: (message) => log.warn(message) });
    const place = workerPlace();
    if (place !== undefined) return serveAsWorker(config, reread, place);
    const { signal, stop } = stopSignal();
    if (config.ephemeral) onEndOfParent(() => stop("end of the parent process"));
    const socket = inheritedSocket(config.workers);
    const ownOf = (all: Config): Config => ({ ...all, listen: { ...all.listen, socket } });
    const live = new LiveSettings(ownOf(config));
    const log = loggerOf(live);
    const reloadOnHangUp = (tellWorkers?: () => void) =>
      onHangUp(() => {
        const next = readAgain(() => ownOf(reread(log)), log);
        if (next === undefined) return;
        takeSettings(live, next, log);
        tellWorkers?.();
      });
    if (config.workers === 1) {
      reloadOnHangUp();
      return serve(live, log, signal);
    }
    const status = await supervise(config, log, signal, reloadOnHangUp);
    if (status !== 0) process.exit(status);
  });
}

/** A logger whose level is that of the settings. */
function loggerOf(live: LiveSettings, options?: LoggerOptions): Logger {
  const log = createLogger(live.current.logLevel, { format: live.current.logFormat, ...options });
  live.follow(({ logLevel }) => {
    log.level = logLevel;
  });
  return log;
}

/** Serves at the port of all workers, with a share of the threads. The supervisor logs what has changed at SIGHUP. */
async function serveAsWorker(config: Config, reread: (log: Logger) => Config, place: WorkerPlace): Promise<void> {
  const { index, count, port, isFirstStart } = place;
  const { peers, signal, onReload, leave } = joinPeers(place);
  const ownOf = (all: Config): Config => ({
    ...all,
    listen: { ...all.listen, port },
    maxLongQueries: Math.ceil(all.maxLongQueries / count),
  });
  const live = new LiveSettings(ownOf(config));
  const log = loggerOf(live, { worker: index });
  onReload(() => {
    const next = readAgain(() => ownOf(reread(log)), log);
    if (next !== undefined) live.take(next);
  });
  try {
    await serve(live, log, signal, { isSilent: index > 0 || !isFirstStart, peers });
  } finally {
    await leave();
  }
}

/** A worker, for {@link serve}. */
interface ServingWorker {
  /** Whether it prints nothing. */
  readonly isSilent: boolean;
  readonly peers: Peers;
}

/** Serves until `signal` is aborted. */
async function serve(live: LiveSettings, log: Logger, signal: AbortSignal, worker?: ServingWorker): Promise<void> {
  const config = live.current;
  removeReadyFile(config);
  let server: RunningServer;
  try {
    server = await startServer(config, log, signal, worker?.peers, live);
  } catch (error) {
    if (error === signal.reason) return; // stopped while it waited for the database
    throw error;
  }
  if (config.gcTuning === "on") shortenPauses();
  const output = joinedLines(1, 0);
  let readyLine: string | undefined;
  try {
    if (config.ephemeral) {
      readyLine = await prepareStandIn(server, config);
      output.write(readyLine);
    } else if (!worker?.isSilent)
      output.write(`${addressesOf(server)}${noticeOf(config)}${await welcome(server, config)}`);
  } catch (error) {
    await server.stop();
    throw error;
  }
  if (!signal.aborted) await once(signal, "abort");
  log.info({ signal: signal.reason.message }, "stopping");
  removeReadyFile(config, readyLine);
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
