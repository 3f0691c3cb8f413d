/** Instruments of the port: connections, bytes, waiting, and its certificate. */
import type { OnePort } from "../../http/index.ts";
import { type Metrics, seriesBy } from "../../metrics/index.ts";

/**
 * Adds them. `refused`: connections that were closed at once, by limit. `notAfterMs`: when the certificate in use
 * expires; undefined without TLS.
 */
export function measurePort(
  metrics: Metrics,
  port: Pick<OnePort, "stats">,
  refused: ReadonlyMap<string, number>,
  notAfterMs: () => number | undefined,
): void {
  metrics.add({
    name: "platform.connections",
    kind: "upDownCounter",
    description: "Open connections, by protocol; unknown until their first bytes have come.",
    read: () => seriesBy("network.protocol.name", Object.entries(port.stats().connections)),
  });
  metrics.add({
    name: "platform.connections.refused",
    kind: "counter",
    description: "Connections that were closed at once, by the limit that was reached.",
    read: () => seriesBy("limit", refused),
  });
  metrics.add({
    name: "platform.network.io",
    kind: "counter",
    description: "Bytes of all connections, with TLS as they are on the wire.",
    unit: "By",
    read() {
      const { bytesRead, bytesWritten } = port.stats();
      return seriesBy("network.io.direction", Object.entries({ receive: bytesRead, transmit: bytesWritten }));
    },
  });
  metrics.add({
    name: "platform.connections.waiting",
    kind: "upDownCounter",
    description: "Connections with requests that wait for their turn.",
    read: () => port.stats().waiting,
  });
  metrics.add({
    name: "platform.queue.delay",
    kind: "gauge",
    description: "How long the request that waits longest for its turn has waited.",
    unit: "s",
    read: () => port.stats().waitedMs / 1000,
  });
  metrics.add({
    name: "platform.tls.certificate.expiry",
    kind: "gauge",
    description: "When the certificate expires, in seconds since 1970; only with TLS.",
    unit: "s",
    read() {
      const ms = notAfterMs();
      return ms === undefined ? undefined : ms / 1000;
    },
  });
}
