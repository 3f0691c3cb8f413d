/** The port of a server. It is opened first, so that liveness is answered while the server waits for its database. */

import { type Config, flagOf, type ListenAddress } from "../../config/index.ts";
import { completeError } from "../../errors.ts";
import { createOnePort, IncomingBodies, type OnePort } from "../../http/index.ts";
import type { Logger } from "../../log.ts";
import { formatLimit } from "../../message/index.ts";
import { maxOpenFiles } from "../../metrics/index.ts";
import { formatStatus } from "../../rest/index.ts";
import { refuseRpc } from "../../rpc/index.ts";
import { listenFailure } from "../failure.ts";
import { measurePort } from "../instruments/port.ts";
import { answerHeaders } from "../request-id.ts";
import { type CertificateWatch, watchCertificate } from "../tls/certificate.ts";
import { readTlsFiles } from "../tls/files.ts";
import type { StartContext } from "./context.ts";
import { PortHandlers, type RequestHandlers } from "./port-handlers.ts";
import { createRefusedConnections, refusalOf } from "./refusals.ts";

/** An open port. */
export interface ServerPort {
  /** Where it listens. */
  readonly address: ListenAddress;
  readonly bodies: IncomingBodies;
  /** The certificate in use; undefined without TLS. */
  readonly certificate: Pick<CertificateWatch, "notAfterMs"> | undefined;
  /** The body, JSON text, of a refusal that no handler sees. */
  refusalBody(httpStatus: number): string;
  /**
   * Lets `handlers` answer from now on. Until then, calls wait for a few seconds and are refused as UNAVAILABLE, or, at
   * a port that others share or a socket that was passed on, are left to others or wait. Errors: StartFailure.
   */
  serve(handlers: RequestHandlers): Promise<void>;
  /** Refuses calls as UNAVAILABLE for this reason; undefined: no longer. */
  refuse(reason: string | undefined): void;
  /** See `OnePort.pause`. */
  readonly pause: OnePort["pause"];
  /**
   * On a socket that was passed on, lets proxies leave before the port is closed: the connections that they open
   * afterwards wait for the next process. Elsewhere these are refused, and proxies leave once the port is closed.
   */
  drain(): void;
  /** See `OnePort.close`. On a socket that was passed on, idle connections end at once. */
  close: OnePort["close"];
}

/** Opens the port of the settings. Errors: StartFailure. */
export async function openPort({
  config,
  live,
  log,
  api,
  metrics,
  now,
  peers,
  readiness,
  stack,
}: StartContext): Promise<ServerPort> {
  const { listen, serviceHost, maxHeaderBytes, maxPendingBodyBytes, maxRequestBytes } = config;
  const headerLimit = formatLimit(maxHeaderBytes, flagOf("maxHeaderBytes"));
  const refusalBody = (httpStatus: number) =>
    formatStatus(completeError(refusalOf(httpStatus, headerLimit), serviceHost, undefined), api.registry);
  const answering = new PortHandlers({ api, readiness, serviceHost });
  const bodies = new IncomingBodies(maxPendingBodyBytes, Math.max(maxPendingBodyBytes / 8, maxRequestBytes));
  const tls = readTlsFiles(config);
  const refused = createRefusedConnections(log);
  const port = createOnePort({
    tls,
    clientAuth: config.tlsClientAuth,
    hsts: config.hsts === "on",
    bodies,
    http2: config.http2,
    ...answering.delegating(config.fastPath === "on"),
    refusalBody,
    onLargeHeader: (request, response) =>
      refuseRpc(request, response, () => completeError(refusalOf(431, headerLimit), serviceHost, undefined), {
        registry: api.registry,
        headers: answerHeaders(request.headers),
      }),
    limits: { maxHeaderBytes, maxWaitMs: config.maxQueueDelay, ...connectionLimitsOf(config, log) },
    proxies: {
      networks: config.trustedProxies,
      header: config.forwardedHeader,
      proxyProtocol: config.proxyProtocol === "on",
    },
    onRefusal: refused.report,
    onError: (error) => log.debug({ err: error }, "connection"),
  });
  const certificate = tls && watchCertificate({ live, log, now, files: tls, use: port.setTls });
  stack.defer(() => certificate?.close());
  live.follow(({ maxQueueDelay }) => port.setMaxWait(maxQueueDelay));
  if (metrics !== undefined) measurePort(metrics, port, refused.counts, () => certificate?.notAfterMs);
  const { sharesPort } = peers;
  const isPassedOn = listen.socket !== undefined;
  /** Others answer at the port meanwhile, or connections wait in the queue of a socket that is passed on. */
  const opensLate = sharesPort || isPassedOn;
  const open = () =>
    port.listen({ ...listen, isShared: sharesPort }).catch((error) => {
      throw listenFailure("listen", listen, error);
    });
  const address = opensLate ? listen : await open();
  let closed: Promise<void> | undefined;
  const close: ServerPort["close"] = ({ graceMs, idleMs = 0 }) =>
    (closed ??= port.close({ graceMs, idleMs: isPassedOn ? 0 : idleMs }));
  stack.defer(() => close({ graceMs: 0 }));
  return {
    address: { host: listen.host, port: address.port },
    bodies,
    certificate,
    refusalBody,
    async serve(ready) {
      answering.serve(ready);
      if (opensLate) await open();
    },
    refuse: (reason) => answering.refuse(reason),
    pause: port.pause,
    drain() {
      if (isPassedOn) port.drain();
    },
    close,
  };
}

/** File descriptors that are kept for the admin listener, the log and the database, at most. */
const maxReservedFiles = 256;

/** The limits of connections. It is logged if the system allows fewer than the settings. */
function connectionLimitsOf(config: Config, log: Logger) {
  const { maxConnections, maxConnectionsPerAddress = Math.ceil(maxConnections / 4) } = config;
  const { keepAliveTimeout: keepAliveMs, http2IdleTimeout: sessionIdleMs } = config;
  const openFiles = maxOpenFiles() ?? Number.POSITIVE_INFINITY;
  const maxDescriptor = openFiles - Math.min(maxReservedFiles, Math.floor(openFiles / 4));
  if (maxDescriptor < maxConnections)
    log.warn(
      { openFiles, connections: maxDescriptor, setting: flagOf("maxConnections") },
      "the system allows fewer open files than connections",
    );
  return { maxConnections, maxConnectionsPerAddress, keepAliveMs, sessionIdleMs, maxDescriptor };
}
