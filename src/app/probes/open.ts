/** Opens the probes of a server with one process, on a thread, so that its event loop cannot delay them. */
import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { ListenAddress } from "../../config.ts";
import { listenFailure } from "../failure.ts";

/** What the thread is given. */
export interface ProbeThreadData {
  readonly listen: ListenAddress;
  /** The index of the status in `statuses`, and when it was reported, in seconds since 1970. */
  readonly state: Int32Array;
  readonly statuses: readonly string[];
}

/**
 * What the thread sends: once its port, or why it cannot listen; then `probed` each time that somebody asks for
 * readiness.
 */
export type ProbeThreadMessage =
  | { readonly port: number }
  | { readonly code?: string | undefined; message: string }
  | "probed";

/** Open probes. */
export interface Probes {
  readonly port: number;
  /** Reports that the event loop runs, and why the server takes no calls; undefined while it does. */
  report(unreadiness: string | undefined): void;
  close(): Promise<void>;
}

/** The statuses that `/readyz` can have. */
export const unreadyStatuses = [
  "starting",
  "stopping",
  "the database is not available",
  "the database is newer than this server",
] as const;
const statuses = ["ok", ...unreadyStatuses];

/** Opens them. `onProbe`: called when somebody asks for readiness. Errors: StartFailure. */
export async function openProbes(listen: ListenAddress, onProbe: () => void): Promise<Probes> {
  const state = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const report = (unreadiness: string | undefined) => {
    Atomics.store(state, 0, statuses.indexOf(unreadiness ?? "ok"));
    Atomics.store(state, 1, Date.now() / 1000);
  };
  report("starting");
  const workerData: ProbeThreadData = { listen, state, statuses };
  const thread = new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), {
    workerData,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
  });
  const [answer] = (await once(thread, "message")) as [Exclude<ProbeThreadMessage, "probed">];
  if (!("port" in answer)) {
    await thread.terminate();
    throw listenFailure("probeListen", listen, Object.assign(new Error(answer.message), { code: answer.code }));
  }
  thread.on("message", onProbe);
  thread.unref();
  return { port: answer.port, report, close: async () => void (await thread.terminate()) };
}
