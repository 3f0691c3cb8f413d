/** Transports to a server. */
import { create, type DescMessage, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import { FieldMaskSchema, MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { PlatformError } from "./errors.ts";
import { checkServer, isNetworkFailure, unreachable } from "./network.ts";
import { delayBeforeRetry, type RetryOptions } from "./retry.ts";
import { staticToken, type TokenSource, withToken } from "./token.ts";

/** A day. gRPC sends at most eight digits. */
const maxTimeoutMs = 86_400_000;

/** How to reach a server. */
export interface TransportOptions {
  /** Its base URL: `https://platform.example.com`. Errors: TypeError for anything else. */
  readonly server: string;
  /** No token by default. */
  readonly token?: string | TokenSource;
  /**
   * Milliseconds after which a call with all its attempts fails with DEADLINE_EXCEEDED: at most a day, 0 or Infinity
   * for no limit, a minute by default. Errors: PlatformError with INVALID_ARGUMENT for anything else.
   */
  readonly timeoutMs?: number;
  /** How calls are sent: by the Connect protocol and `fetch` by default. */
  readonly transport?: TransportFactory;
  /** How calls are sent again that failed with a transient error; false: not at all, and without idempotency keys. */
  readonly retry?: RetryOptions | false;
}

/**
 * Makes the transport that sends calls. `createGrpcTransport` of connect-node and its kind are factories. `fetch`: what
 * transports over fetch use, so that failures of the network are UNAVAILABLE.
 */
export type TransportFactory = (options: {
  baseUrl: string;
  interceptors: Interceptor[];
  fetch: typeof globalThis.fetch;
}) => Transport;

/** A transport that sends tokens, repeats what may be repeated, and throws {@link PlatformError}. */
export function createPlatformTransport({
  server,
  token,
  timeoutMs: defaultTimeoutMs = 60_000,
  transport = connect,
  retry = {},
}: TransportOptions): Transport {
  checkServer(server);
  limitOf(defaultTimeoutMs);
  const source = typeof token === "string" ? staticToken(token) : token;
  const interceptors = source === undefined ? [] : [authorize(source, server)];
  const inner = transport({ baseUrl: server, interceptors, fetch: fetchOrUnavailable });
  return {
    async unary(method, signal, timeoutMs = defaultTimeoutMs, header, message, contextValues) {
      const deadline = performance.now() + limitOf(timeoutMs);
      const request = withProtoPaths(method, message);
      const headers = new Headers(header);
      if (retry !== false && !isRead(method) && !headers.has("idempotency-key"))
        headers.set("idempotency-key", randomKey());
      for (let attempts = 1; ; attempts++) {
        try {
          const leftMs = Math.max(Math.ceil(deadline - performance.now()), 1);
          return await inner.unary(method, signal, sentLimit(leftMs), headers, request, contextValues);
        } catch (reason) {
          const error = platformErrorOf(reason, server);
          const delayMs = retry === false ? undefined : delayBeforeRetry(error, attempts, retry);
          if (delayMs === undefined || performance.now() + delayMs >= deadline) throw error;
          await sleep(delayMs, signal);
        }
      }
    },
    stream: async (method, signal, timeoutMs = defaultTimeoutMs, ...call) =>
      inner.stream(method, signal, sentLimit(limitOf(timeoutMs)), ...call).then(
        (response) => ({ ...response, message: withPlatformErrors(response.message, server) }),
        (reason) => {
          throw platformErrorOf(reason, server);
        },
      ),
  };
}

async function* withPlatformErrors<T>(messages: AsyncIterable<T>, server: string): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (reason) {
    throw platformErrorOf(reason, server);
  }
}

/** The limit of a call in milliseconds; Infinity without one. Errors: PlatformError with INVALID_ARGUMENT. */
function limitOf(timeoutMs: number): number {
  if (timeoutMs === 0 || timeoutMs === Number.POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  if (timeoutMs > 0 && timeoutMs <= maxTimeoutMs) return timeoutMs;
  throw new PlatformError(`timeoutMs must be from 0 to ${maxTimeoutMs}, or Infinity`, Code.InvalidArgument);
}

/** The limit as transports of Connect take it. */
function sentLimit(ms: number): number {
  return ms === Number.POSITIVE_INFINITY ? 0 : ms;
}

/** The default factory. */
const connect: TransportFactory = createConnectTransport;

/** `fetch`, whose failures of the network, TypeErrors otherwise, are UNAVAILABLE: also while a body is read. */
const fetchOrUnavailable: typeof fetch = async (...request) => {
  const response = await fetch(...request).catch(throwUnavailable);
  return Object.assign(response, {
    json: () => Response.prototype.json.call(response).catch(throwUnavailable),
    arrayBuffer: () => Response.prototype.arrayBuffer.call(response).catch(throwUnavailable),
  });
};

function throwUnavailable(reason: unknown): never {
  throw reason instanceof TypeError ? ConnectError.from(reason, Code.Unavailable) : reason;
}

function authorize(source: TokenSource, server: string): Interceptor {
  return (next) => (request) => {
    // The messages of a stream cannot be sent again.
    const asked: TokenSource = request.stream ? { token: (it) => source.token(it) } : source;
    return withToken(asked, { server, signal: request.signal }, (token) => {
      if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
      return next(request);
    });
  };
}

/** The request with the paths of its update mask in proto names: `catalog_tier` for `catalogTier`. */
function withProtoPaths<Input extends DescMessage>(
  { input }: DescMethod & { input: Input },
  request: MessageInitShape<Input>,
): MessageInitShape<Input> {
  const { updateMask } = Object(request) as { updateMask?: { paths?: readonly string[] } };
  if (!updateMask?.paths?.some((path) => /[A-Z]/.test(path))) return request;
  const paths = updateMask.paths.map((path) => path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const message: object = create(input, request);
  const copy = Object.create(Object.getPrototypeOf(message)); // the request may be a message of the caller
  return Object.assign(copy, message, { updateMask: create(FieldMaskSchema, { paths }) });
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

function platformErrorOf(reason: unknown, server: string): PlatformError {
  const error = ConnectError.from(reason);
  if (error instanceof PlatformError) return error;
  if (/^serialize (binary|JSON): /.test(error.rawMessage))
    return new PlatformError(error.rawMessage, Code.InvalidArgument, undefined, undefined, error.cause);
  if (isNetworkFailure(error)) {
    const { cause } = error;
    return unreachable(server, cause instanceof Error ? cause : new Error("the connection was closed"));
  }
  return new PlatformError(error.rawMessage, error.code, error.metadata, error.details as never, error.cause);
}
