/** Transports to a server. */
import { ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { PlatformError } from "./errors.ts";
import { staticToken, type TokenSource } from "./token.ts";

/** How to reach a server. */
export interface TransportOptions {
  /** Its base URL: `https://platform.example.com`. */
  readonly server: string;
  /** No token by default. */
  readonly token?: string | TokenSource;
  /** Milliseconds after which a call fails with DEADLINE_EXCEEDED; a minute by default. */
  readonly timeoutMs?: number;
}

/** A transport that sends tokens, and throws {@link PlatformError}. */
export function createPlatformTransport({ server, token, timeoutMs = 60_000 }: TransportOptions): Transport {
  const source = typeof token === "string" ? staticToken(token) : token;
  const inner = createConnectTransport({
    baseUrl: server,
    defaultTimeoutMs: timeoutMs,
    interceptors: [authorize(source)],
  });
  const refuse = (reason: unknown) => {
    throw platformErrorOf(reason);
  };
  // Deadlines fail outside of interceptors.
  return {
    unary: (...call) => inner.unary(...call).catch(refuse),
    stream: (...call) => inner.stream(...call).catch(refuse),
  };
}

function authorize(source: TokenSource | undefined): Interceptor {
  return (next) => async (request) => {
    const token = await source?.token(request.signal);
    if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}

function platformErrorOf(reason: unknown): PlatformError {
  const error = ConnectError.from(reason);
  return new PlatformError(error.rawMessage, error.code, error.metadata, error.details as never, error.cause);
}
