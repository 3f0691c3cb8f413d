/**
 * The supervisor of `serve --workers`: starts the workers, starts one again when it ends, passes on what they send each
 * other, and is the admin listener of all of them. It has no database. Worker 0 starts alone, because it may have to
 * migrate and to initialise the database.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import {
  type Check,
  drainDelayOf,
  failureOf,
  listenFailure,
  openSupervisorAdmin,
  Probing,
  type ProcessState,
} from "../../app/index.ts";
import { CommandFailure } from "../../command/index.ts";
import type { Config, ListenAddress } from "../../config/index.ts";
import type { Logger } from "../../log.ts";
import { type FromWorker, placeVariable, type ToWorker, type WorkerPlace } from "./messages.ts";
import { WorkersMetrics } from "./metrics.ts";

/** How long workers may take to stop after the drain delay: what a server takes by itself, and a little more. */
const stopMs = 25_000;
/** How long a worker that ended waits for its next start; longer after each failure. */
const minPauseMs = 100;
const maxPauseMs = 5000;
/** A worker that was ready for this long has not failed. */
const steadyMs = 2000;
/** So many failures of workers one after another, without one that was ready, end the server. */
const maxFailures = 10;

/** The checks of a worker that has not reported yet. */
const starting: readonly Check[] = [{ name: "startup", failure: "starting" }];

/** One of the workers, whose process changes. */
interface Slot {
  readonly index: number;
  process: ChildProcess | undefined;
  checks: readonly Check[];
  debugPort: number | undefined;
  isProbed: boolean;
  reportedMs: number;
  readyMs: number | undefined;
  pauseMs: number;
  starts: number;
}

/**
 * Runs workers until `signal` is aborted. Returns the exit status. Errors: StartFailure; CommandFailure if the workers
 * cannot be started any more. `onReload`: is given a function that makes the workers read their settings again.
 */
export async function supervise(
  config: Config,
  log: Logger,
  signal: AbortSignal,
  onReload: (tellWorkers: () => void) => void,
): Promise<number> {
  const { workers: count } = config;
  const port = await freePort(config.listen);
  const ended = Promise.withResolvers<number>();
  const probing = new Probing();
  const slots: readonly Slot[] = Array.from({ length: count }, (_, index) => ({
    index,
    process: undefined,
    checks: starting,
    debugPort: undefined,
    isProbed: false,
    reportedMs: performance.now(),
    readyMs: undefined,
    pauseMs: minPauseMs,
    starts: 0,
  }));
  const [leader, ...others] = slots as [Slot, ...Slot[]];
  let failures = 0;
  let haveOthersStarted = false;

  const send = ({ process }: Slot, message: ToWorker) => {
    if (process?.connected) process.send(message, () => {}); // its exit follows when it has gone
  };

  const metrics =
    config.metrics === "off" || config.adminListen === "off"
      ? undefined
      : new WorkersMetrics({
          ask: () => {
            for (const slot of slots) send(slot, { type: "collect" });
          },
          states: () => slots.map(stateOf),
        });

  function start(slot: Slot): void {
    const { index } = slot;
    const place: WorkerPlace = { index, count, port, isFirstStart: slot.starts++ === 0 };
    const child = fork(process.argv[1]!, process.argv.slice(2), {
      env: { ...process.env, [placeVariable]: JSON.stringify(place) },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    slot.process = child;
    slot.reportedMs = performance.now();
    metrics?.started();
    child.once("disconnect", () => metrics?.ended(index)); // after its last message
    child.on("message", (message: FromWorker) => receive(slot, message));
    child.once("exit", (code, name) => onExit(slot, code, name));
    child.on("error", (error) => log.error({ worker: index, err: error }, "worker"));
  }

  function receive(slot: Slot, message: FromWorker): void {
    if (message.type === "wake") send(leader, message);
    else if (message.type === "metrics") metrics?.answered(slot.index, message.metrics);
    else {
      slot.checks = message.checks;
      slot.debugPort = message.debugPort;
      slot.isProbed = message.isProbed;
      slot.reportedMs = performance.now();
      if (failureOf(message.checks) === undefined && slot.readyMs === undefined) onReady(slot);
    }
  }

  function onReady(slot: Slot): void {
    slot.readyMs = performance.now();
    failures = 0;
    if (haveOthersStarted || signal.aborted) return;
    haveOthersStarted = true;
    for (const other of others) start(other);
  }

  function onExit(slot: Slot, code: number | null, name: NodeJS.Signals | null): void {
    const wasReady = slot.readyMs !== undefined;
    const wasSteady = wasReady && performance.now() - slot.readyMs! > steadyMs;
    slot.process = undefined;
    slot.readyMs = undefined;
    slot.checks = starting;
    slot.debugPort = undefined;
    if (signal.aborted) {
      endWhenStopped();
      return;
    }
    if (!haveOthersStarted) {
      ended.resolve(code ?? 1); // it has printed why
      return;
    }
    log.error({ worker: slot.index, code, signal: name }, "worker ended");
    if (!wasReady && ++failures >= maxFailures) {
      ended.reject(new CommandFailure(`the workers end before they are ready, ${failures} times in a row`));
      return;
    }
    slot.pauseMs = wasSteady ? minPauseMs : Math.min(slot.pauseMs * 2, maxPauseMs);
    setTimeout(() => {
      if (!signal.aborted) start(slot);
    }, slot.pauseMs);
  }

  function endWhenStopped(): void {
    if (slots.every(({ process }) => process === undefined)) ended.resolve(0);
  }

  const killAll = () => {
    for (const { process } of slots) process?.kill("SIGKILL");
  };
  signal.addEventListener("abort", () => {
    const { message } = signal.reason as Error;
    log.info({ signal: message }, "stopping");
    const isProbed = probing.isRecent || slots.some((slot) => slot.isProbed);
    for (const slot of slots) send(slot, { type: "stop", signal: message, isProbed });
    setTimeout(killAll, drainDelayOf(config, isProbed) + stopMs).unref();
    endWhenStopped();
  });

  await using admin = await openSupervisorAdmin({
    config,
    log,
    states: () => slots.map(stateOf),
    onProbe: () => probing.note(),
    metrics: metrics && (() => metrics.text()),
  });
  if (admin !== undefined) log.info({ adminPort: admin.port }, "admin listener");
  onReload(() => {
    for (const slot of slots) send(slot, { type: "reload" });
  });
  process.once("exit", killAll);
  start(leader);
  try {
    return await ended.promise;
  } finally {
    metrics?.close();
    killAll();
  }
}

function stateOf({ checks, debugPort, reportedMs }: Slot): ProcessState {
  return { checks, debugPort, silentMs: performance.now() - reportedMs };
}

/**
 * The port that the workers will share. Whether another program uses it is found out here, because workers would share
 * it with those of another server. Errors: StartFailure.
 */
async function freePort(listen: ListenAddress): Promise<number> {
  const server = createServer();
  try {
    server.listen(listen);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (error) {
    throw listenFailure("listen", listen, error);
  } finally {
    server.close();
  }
}
