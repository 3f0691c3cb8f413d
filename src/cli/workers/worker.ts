/** A worker: one of several processes that serve the same port. */
import type { Peers } from "../../app/index.ts";
import type { Metric } from "../../metrics/index.ts";
import { type FromWorker, placeVariable, type ToWorker, type WorkerPlace } from "./messages.ts";

/** The dispatcher is woken at most this often. */
const wakeMs = 20;

/** The place of this process; undefined if it is not a worker. */
export function workerPlace(): WorkerPlace | undefined {
  const text = process.env[placeVariable];
  return process.send === undefined || text === undefined ? undefined : (JSON.parse(text) as WorkerPlace);
}

/** What a worker has of the other processes. */
export interface Worker {
  readonly peers: Peers;
  /** Aborted when the supervisor asks the worker to stop, or has gone. */
  readonly signal: AbortSignal;
  /** Sets what is called when the settings are to be read again. */
  onReload(reload: () => void): void;
  /** Sends the supervisor what has been counted, and lets the process end. */
  leave(): Promise<void>;
}

/** Joins the other processes. */
export function joinPeers({ index }: WorkerPlace): Worker {
  const isLeader = index === 0;
  const stopping = new AbortController();
  let collect: (() => Promise<readonly Metric[]>) | undefined;
  let wakeOwn = () => {};
  let reloadOwn = () => {};
  let isWaking = false;
  let isProbed = false;

  const send = (message: FromWorker) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {}); // `disconnect` follows
  };
  const stop = (name: string) => {
    if (!stopping.signal.aborted) stopping.abort(new DOMException(name, "AbortError"));
  };
  process.on("SIGINT", () => {}); // Ctrl-C reaches all processes; the supervisor stops the workers
  process.on("SIGHUP", () => {}); // the supervisor passes it on as a message
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("disconnect", () => stop("the supervisor has gone"));
  process.on("message", (message: ToWorker) => {
    if (message.type === "stop") {
      ({ isProbed } = message);
      stop(message.signal);
    } else if (message.type === "reload") reloadOwn();
    else if (message.type === "wake") wakeOwn();
    else void sendMetrics();
  });

  async function sendMetrics(): Promise<void> {
    if (collect !== undefined) send({ type: "metrics", metrics: await collect() });
  }

  return {
    signal: stopping.signal,
    onReload(reload) {
      reloadOwn = reload;
    },
    async leave() {
      await sendMetrics();
      if (process.connected) process.disconnect?.();
    },
    peers: {
      isLeader,
      sharesPort: true,
      wakeDispatcher() {
        if (isLeader) wakeOwn();
        else if (!isWaking) {
          isWaking = true;
          setTimeout(() => {
            isWaking = false;
            send({ type: "wake" });
          }, wakeMs).unref();
        }
      },
      onWakeDispatcher(wake) {
        wakeOwn = wake;
      },
      onCollect(read) {
        collect = read;
      },
      report: (checks, debugPort, isProbed) => send({ type: "state", checks, debugPort, isProbed }),
      get isProbed() {
        return isProbed;
      },
    },
  };
}
