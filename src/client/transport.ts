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
}

/** A transport that sends tokens, and throws {@link PlatformError}. */
export function createPlatformTransport({ server, token }: TransportOptions): Transport {
  const source = typeof token === "string" ? staticToken(token) : token;
  return createConnectTransport({ baseUrl: server, interceptors: [authorize(source)] });
}

function authorize(source: TokenSource | undefined): Interceptor {
  return (next) => async (request) => {
    const token = await source?.token(request.signal);
    if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
    try {
      return await next(request);
    } catch (error) {
      throw platformErrorOf(error);
    }
  };
}

function platformErrorOf(reason: unknown): PlatformError {
  const error = ConnectError.from(reason);
  return new PlatformError(error.rawMessage, error.code, error.metadata, error.details as never, error.cause);
}
