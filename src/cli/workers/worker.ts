/** A worker: one of several processes that serve the same port. */
import type { Counts, Peers } from "../../app/index.ts";
import { type FromWorker, placeVariable, type ToWorker, type WorkerPlace } from "./messages.ts";

/** Messages of one kind are sent at most this often. */
const wakeMs = 20;
const countsMs = 1000;

/** The place of this process; undefined if it is no worker. */
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
  /** Lets the process end. */
  leave(): void;
}

/** Joins the other processes. */
export function joinPeers({ index }: WorkerPlace): Worker {
  const isLeader = index === 0;
  const stopping = new AbortController();
  const own = new Map<string, Counts>();
  const sent = new Map<string, Map<string, number>>();
  const totals = new Map<string, Map<string, number>>();
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
    else for (const [counter, counts] of Object.entries(message.counts)) setAll(totals.get(counter), counts);
  });

  /** Sends what has been counted since the last time. */
  function sendCounts(): void {
    const counts: Record<string, [string, number][]> = {};
    for (const [counter, values] of own) {
      const before = sent.get(counter)!;
      const more = [...values].flatMap(([value, count]): [string, number][] => {
        const added = count - (before.get(value) ?? 0);
        return added === 0 ? [] : [[value, added]];
      });
      setAll(before, [...values]);
      if (more.length > 0) counts[counter] = more;
    }
    if (Object.keys(counts).length > 0) send({ type: "counted", counts });
  }

  const counting = setInterval(sendCounts, countsMs).unref();
  return {
    signal: stopping.signal,
    onReload(reload) {
      reloadOwn = reload;
    },
    leave() {
      clearInterval(counting);
      sendCounts();
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
      totalsOf(counter, counts) {
        own.set(counter, counts);
        sent.set(counter, new Map());
        const total = new Map<string, number>();
        totals.set(counter, total);
        return total;
      },
      report: (unreadiness, isProbed) => send({ type: "state", unreadiness: unreadiness ?? null, isProbed }),
      get isProbed() {
        return isProbed;
      },
    },
  };
}

function setAll(to: Map<string, number> | undefined, counts: readonly (readonly [string, number])[]): void {
  for (const [value, count] of counts) to?.set(value, count);
}
