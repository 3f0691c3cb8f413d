/** Transports to a server. */
import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { PlatformError } from "./errors.ts";
import { delayBeforeRetry, type RetryOptions } from "./retry.ts";
import { staticToken, type TokenSource } from "./token.ts";

/** How to reach a server. */
export interface TransportOptions {
  /** Its base URL: `https://platform.example.com`. */
  readonly server: string;
  /** No token by default. */
  readonly token?: string | TokenSource;
  /** Milliseconds after which a call with all its attempts fails with DEADLINE_EXCEEDED; a minute by default. */
  readonly timeoutMs?: number;
  /** How calls are sent: by the Connect protocol and `fetch` by default. */
  readonly transport?: TransportFactory;
  /** How calls are sent again that failed with a transient error; false: not at all, and without idempotency keys. */
  readonly retry?: RetryOptions | false;
}

/** Makes the transport that sends calls. `createGrpcTransport` of connect-node and its kind are factories. */
export type TransportFactory = (options: { baseUrl: string; interceptors: Interceptor[] }) => Transport;

/** A transport that sends tokens, repeats what may be repeated, and throws {@link PlatformError}. */
export function createPlatformTransport({
  server,
  token,
  timeoutMs: defaultTimeoutMs = 60_000,
  transport = connect,
  retry = {},
}: TransportOptions): Transport {
  const source = typeof token === "string" ? staticToken(token) : token;
  const inner = transport({ baseUrl: server, interceptors: source === undefined ? [] : [authorize(source, server)] });
  return {
    async unary(method, signal, timeoutMs = defaultTimeoutMs, header, message, contextValues) {
      const deadline = timeoutMs > 0 ? performance.now() + timeoutMs : undefined;
      const headers = new Headers(header);
      if (retry !== false && !isRead(method) && !headers.has("idempotency-key"))
        headers.set("idempotency-key", randomKey());
      for (let attempts = 1; ; attempts++) {
        try {
          const leftMs = deadline === undefined ? 0 : Math.max(Math.ceil(deadline - performance.now()), 1);
          return await inner.unary(method, signal, leftMs, headers, message, contextValues);
        } catch (reason) {
          const error = platformErrorOf(reason);
          const delayMs = retry === false ? undefined : delayBeforeRetry(error, attempts, retry);
          if (delayMs === undefined || (deadline !== undefined && performance.now() + delayMs >= deadline)) throw error;
          await sleep(delayMs, signal);
        }
      }
    },
    stream: (method, signal, timeoutMs = defaultTimeoutMs, ...call) =>
      inner.stream(method, signal, timeoutMs, ...call).catch((reason) => {
        throw platformErrorOf(reason);
      }),
  };
}

/** The default factory. */
const connect: TransportFactory = (options) =>
  createConnectTransport({
    ...options,
    // It throws a TypeError for a failure of the network.
    fetch: (...request) =>
      fetch(...request).catch((reason) => {
        throw reason instanceof TypeError ? ConnectError.from(reason, Code.Unavailable) : reason;
      }),
  });

function authorize(source: TokenSource, server: string): Interceptor {
  return (next) => async (request) => {
    const { signal } = request;
    const token = await source.token({ server, signal });
    if (token === undefined) return next(request);
    request.header.set("authorization", `Bearer ${token}`);
    try {
      return await next(request);
    } catch (error) {
      // The messages of a stream cannot be sent again.
      if (request.stream || ConnectError.from(error).code !== Code.Unauthenticated || !source.refused?.(token))
        throw error;
      const other = await source.token({ server, signal });
      if (other === undefined || other === token) throw error;
      request.header.set("authorization", `Bearer ${other}`);
      return next(request);
    }
  };
}

/** Whether a method changes nothing. The server carries out a method that changes something once for each key. */
function isRead({ idempotency }: DescMethod): boolean {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is missing on pages without TLS
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Ends early when `signal` aborts: the next attempt then fails for the reason of the signal. */
function sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
  });
}

function platformErrorOf(reason: unknown): PlatformError {
  const error = ConnectError.from(reason);
  return new PlatformError(error.rawMessage, error.code, error.metadata, error.details as never, error.cause);
}
