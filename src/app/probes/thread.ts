/** The thread that answers the probes of a server with one process. */
import type { AddressInfo } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import type { ProbeThreadData, ProbeThreadMessage } from "./open.ts";
import { createProbeServer, maxSilenceMs } from "./server.ts";

const { listen, state, statuses } = workerData as ProbeThreadData;

const server = createProbeServer({
  failure: () =>
    Date.now() / 1000 - Atomics.load(state, 1) > maxSilenceMs / 1000 ? "the event loop does not respond" : undefined,
  readiness() {
    send("probed");
    const status = statuses[Atomics.load(state, 0)] ?? "unknown";
    return { isReady: status === "ok", document: { status } };
  },
});
server.once("error", ({ code, message }: NodeJS.ErrnoException) => send({ code, message }));
server.listen(listen.port, listen.host, () => send({ port: (server.address() as AddressInfo).port }));

function send(message: ProbeThreadMessage): void {
  parentPort?.postMessage(message);
}
