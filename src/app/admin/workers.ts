/** The admin listener of a server with several processes, in the process that supervises them. */
import { once } from "node:events";
import { get, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import type { Config, ListenAddress } from "../../config/index.ts";
import type { Logger } from "../../log.ts";
import { listenFailure } from "../failure.ts";
import { openAtAdminAddress } from "./address.ts";
import { type Check, eventLoopCheck, failureOf } from "./readiness.ts";
import { respond } from "./respond.ts";
import { createAdminServer, maxSilenceMs } from "./server.ts";

/** The state of one process. */
export interface ProcessState {
  readonly checks: readonly Check[];
  /** How long ago it reported that its event loop moves. */
  readonly silentMs: number;
  /** Where a thread of its own, at 127.0.0.1, gives heap snapshots and CPU profiles; undefined: nowhere. */
  readonly debugPort: number | undefined;
}

/** An open admin listener. */
export interface SupervisorAdmin extends AsyncDisposable {
  readonly port: number;
}

/** What {@link openSupervisorAdmin} needs. */
export interface SupervisorAdminOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Of each worker, by its number. */
  states(): readonly ProcessState[];
  /** Called when somebody asks for readiness. */
  onProbe(): void;
  /** The metrics of all workers in the Prometheus format. Absent: they are off. */
  readonly metrics?: (() => Promise<string>) | undefined;
}

/**
 * Opens it; undefined where it is off. The server is ready while one of its processes is, and to be restarted when none
 * of them responds. Errors: StartFailure.
 */
export function openSupervisorAdmin(options: SupervisorAdminOptions): Promise<SupervisorAdmin | undefined> {
  return openAtAdminAddress(options.config, options.log, (listen) => openAt(listen, options));
}

async function openAt(
  listen: ListenAddress,
  { config, states, onProbe, metrics }: SupervisorAdminOptions,
): Promise<SupervisorAdmin> {
  const allChecks = () => states().map(({ checks, silentMs }) => [...checks, eventLoopCheck(silentMs)]);
  const forward = async (response: ServerResponse, { pathname, search, searchParams }: URL) => {
    const port = states()[Number(searchParams.get("worker") ?? "none")]?.debugPort;
    if (port === undefined)
      return respond(response, [
        400,
        { status: `add worker=N, the number of a worker that runs: ${running(states())}` },
      ]);
    const request = get({ host: "127.0.0.1", port, path: `${pathname}${search}`, agent: false });
    response.once("close", () => request.destroy());
    const [answer] = await once(request, "response");
    response.writeHead(answer.statusCode, answer.headers);
    await pipeline(answer, response);
  };
  const server = createAdminServer({
    failure: () => (states().every(({ silentMs }) => silentMs > maxSilenceMs) ? "no worker responds" : undefined),
    readiness() {
      onProbe();
      const all = allChecks();
      const workers = all.map((checks) => failureOf(checks) ?? "ok");
      const isReady = workers.includes("ok");
      return {
        isReady,
        document: { status: isReady ? "ok" : workers[0], workers },
        checks: all.flatMap((checks, worker) =>
          checks.map(({ name, failure }) => ({ name: `worker-${worker}/${name}`, failure })),
        ),
      };
    },
    metrics,
    debug: { access: config.adminDebug, heap: forward, profile: forward },
    hosts: [...config.adminHosts, listen.host],
  });
  try {
    server.listen(listen);
    await once(server, "listening");
  } catch (error) {
    throw listenFailure("adminListen", listen, error);
  }
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function running(states: readonly ProcessState[]): string {
  return states.flatMap(({ debugPort }, worker) => (debugPort === undefined ? [] : [worker])).join(", ") || "none does";
}
