/**
 * The limits of one port: how long a peer may take for each step, and how much memory it may use. Times in
 * milliseconds.
 */
export interface PortLimits {
  /**
   * From accept until enough bytes have come to distinguish HTTP/1 from HTTP/2. Cleartext only: under TLS, ALPN
   * decides.
   */
  readonly firstBytesMs: number;
  /** From accept until the first byte of the TLS handshake has come, and from then until it is done. */
  readonly handshakeMs: number;
  /** HTTP/1: from the first byte of a request until its headers are complete. Expiry answers 408. */
  readonly headersMs: number;
  /**
   * From the first byte (HTTP/2: the headers) of a request until its last body byte. Expiry answers 408 (HTTP/2: resets
   * the stream).
   */
  readonly requestMs: number;
  /**
   * From the end of a response until the peer has taken its last byte. HTTP/2: also for bytes that were passed to the
   * socket in one piece.
   */
  readonly responseMs: number;
  /** HTTP/1: between two requests of one connection. Node waits one second more than it announces. */
  readonly keepAliveMs: number;
  /** HTTP/2: from the connection preface until the first complete header block, SETTINGS or none. */
  readonly firstStreamMs: number;
  /** HTTP/2: without an open stream, counted from the end of the last one. Pings do not count. */
  readonly sessionIdleMs: number;
  /** From the end of a connection on our side until the peer must have closed its side. */
  readonly lingerMs: number;
  /**
   * Request line and headers, HTTP/2: decoded header list of RFC 9113 section 6.5.2. Above it 431, or a stream error.
   */
  readonly maxHeaderBytes: number;
  /** HTTP/2: streams open at once in one session. */
  readonly maxConcurrentStreams: number;
  /** Mebibytes of responses of one connection that wait to be sent. Above it handlers wait. */
  readonly maxSessionMegabytes: number;
  /** The same for all connections together. A connection may use as much as is free. */
  readonly maxUnsentMegabytes: number;
  /**
   * HTTP/2: mebibytes of header lists and header blocks of open streams, all connections together. Above it new streams
   * are refused.
   */
  readonly maxHeaderMegabytes: number;
  /** Open connections. Above it new ones are closed. */
  readonly maxConnections: number;
  /** Those of one IPv4 address, or of 64 bits of an IPv6 address; trusted proxies may have as many as there are. */
  readonly maxConnectionsPerAddress: number;
  /**
   * A connection whose file descriptor has this number, or a higher one, is closed. The system gives the lowest number
   * that is free, so that the descriptors above it are left to the rest of the process.
   */
  readonly maxDescriptor: number;
  /**
   * How long a request may wait for its turn. While one has waited longer, the port is overloaded, and new requests are
   * refused at once.
   */
  readonly maxWaitMs: number;
  /** How often all limits but the first two are checked. A time may be exceeded by as much. */
  readonly checkIntervalMs: number;
}

/** The default limits, suitable for the open internet. */
export const defaultPortLimits: PortLimits = {
  firstBytesMs: 10_000,
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 60_000,
  responseMs: 60_000,
  keepAliveMs: 75_000,
  firstStreamMs: 10_000,
  sessionIdleMs: 300_000,
  lingerMs: 2_000,
  maxHeaderBytes: 16 * 1024,
  maxConcurrentStreams: 100,
  maxSessionMegabytes: 16,
  maxUnsentMegabytes: 256,
  maxHeaderMegabytes: 8,
  maxConnections: 10_000,
  maxConnectionsPerAddress: 2_500,
  maxDescriptor: Number.POSITIVE_INFINITY,
  maxWaitMs: 1_000,
  checkIntervalMs: 1_000,
};
