/** Opens the admin listener of one process, on a thread. */
import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Config, ListenAddress } from "../../config/index.ts";
import type { Logger } from "../../log.ts";
import type { Metric } from "../../metrics/index.ts";
import { listenFailure } from "../failure.ts";
import type { Check } from "./readiness.ts";

/** What the thread is given. */
export interface AdminThreadData {
  readonly listen: ListenAddress;
  /** When the event loop last moved: `process.hrtime`. */
  readonly beat: BigInt64Array;
  readonly debug: Config["adminDebug"];
  readonly hosts: readonly string[];
  readonly hasMetrics: boolean;
}

/** To the thread. */
export type ToAdminThread =
  | { readonly type: "checks"; readonly checks: readonly Check[] }
  | { readonly type: "metrics"; readonly metrics: readonly Metric[] };

/** From the thread. */
export type FromAdminThread =
  | { readonly type: "listening"; readonly port: number }
  | { readonly type: "failed"; readonly code?: string | undefined; readonly message: string }
  /** Somebody asks for readiness. */
  | { readonly type: "probed" }
  /** Asks for the metrics. */
  | { readonly type: "collect" }
  /** A client got a file. */
  | { readonly type: "debugged"; readonly file: string };

/** What {@link openAdmin} needs. */
export interface AdminOptions {
  readonly listen: ListenAddress;
  readonly debug: Config["adminDebug"];
  /** Names by which it is reached, besides addresses and names without a dot. */
  readonly hosts: readonly string[];
  readonly log: Logger;
  /** Called when somebody asks for readiness. */
  onProbe?(): void;
  /** The metrics of this process. Absent: they are off. */
  readonly collect?: (() => Promise<readonly Metric[]>) | undefined;
}

/** An open admin listener. */
export interface Admin {
  readonly port: number;
  /** Reports that the event loop moves, and whether the server takes calls. */
  report(checks: readonly Check[]): void;
  close(): Promise<void>;
}

/** Opens it. Errors: StartFailure. */
export async function openAdmin({ listen, debug, hosts, log, onProbe, collect }: AdminOptions): Promise<Admin> {
  const beat = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  const touch = () => Atomics.store(beat, 0, process.hrtime.bigint());
  touch();
  const workerData: AdminThreadData = {
    listen,
    beat,
    debug,
    hosts: [...hosts, listen.host],
    hasMetrics: collect !== undefined,
  };
  const thread = new Worker(new URL(`./thread${extname(import.meta.url)}`, import.meta.url), {
    workerData,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 128 },
  });
  const [answer] = (await once(thread, "message")) as [FromAdminThread];
  if (answer.type !== "listening") {
    await thread.terminate();
    const { code, message } = answer as Extract<FromAdminThread, { type: "failed" }>;
    throw listenFailure("adminListen", listen, Object.assign(new Error(message), { code }));
  }
  const send = (message: ToAdminThread) => thread.postMessage(message);
  thread.on("message", (message: FromAdminThread) => {
    if (message.type === "debugged") log.warn({ file: message.file }, "a client of the admin listener got a file");
    else if (message.type === "probed") onProbe?.();
    else if (message.type === "collect")
      collect?.().then(
        (metrics) => send({ type: "metrics", metrics }),
        (error) => log.error({ err: error }, "metrics"),
      );
  });
  thread.on("error", (error) => log.error({ err: error }, "the admin listener has ended"));
  thread.unref();
  let reported = "";
  return {
    port: answer.port,
    report(checks) {
      touch();
      const text = JSON.stringify(checks);
      if (text === reported) return;
      reported = text;
      send({ type: "checks", checks });
    },
    close: async () => void (await thread.terminate()),
  };
}
