/** The probes of a server with several processes, in the process that supervises them. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { ListenAddress } from "../../config.ts";
import { listenFailure } from "../failure.ts";
import { createProbeServer, maxSilenceMs } from "./server.ts";

/** The state of one process. */
export interface ProcessState {
  /** Why it takes no calls; undefined while it does. */
  readonly unreadiness: string | undefined;
  /** How long ago it reported that its event loop runs. */
  readonly silentMs: number;
}

/** Open probes. */
export interface ProbeServer extends AsyncDisposable {
  readonly port: number;
}

/**
 * Opens them. The server is ready while one of its processes is, and to be restarted when none of them responds.
 * `onProbe`: called when somebody asks for readiness. Errors: StartFailure.
 */
export async function openProbeServer(
  listen: ListenAddress,
  states: () => readonly ProcessState[],
  onProbe: () => void,
): Promise<ProbeServer> {
  const server = createProbeServer({
    failure: () => (states().every(({ silentMs }) => silentMs > maxSilenceMs) ? "no worker responds" : undefined),
    readiness() {
      onProbe();
      const workers = states().map(({ unreadiness }) => unreadiness ?? "ok");
      const isReady = workers.includes("ok");
      return { isReady, document: { status: isReady ? "ok" : workers[0], workers } };
    },
  });
  try {
    server.listen(listen);
    await once(server, "listening");
  } catch (error) {
    throw listenFailure("probeListen", listen, error);
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
