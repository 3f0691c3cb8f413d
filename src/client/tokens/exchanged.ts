/** Tokens of the platform, exchanged for those of another issuer and kept fresh. */
import { Code } from "@connectrpc/connect";
import { PlatformError } from "../errors.ts";
import { checkServer } from "../network.ts";
import { staticToken, type TokenSource, withToken } from "../token.ts";
import { type ExchangedToken, type ExchangeRequest, exchangeToken, refreshToken, timeoutMs } from "./sts.ts";

/** What {@link exchangedToken} exchanges, and where. */
export interface ExchangedTokenOptions extends ExchangeRequest {
  /** Base URL of the server. Errors: TypeError for anything else. */
  readonly server: string;
  /** The tokens of the other issuer. Asked again when the session has ended. */
  readonly subject: string | TokenSource;
}

/** A token is replaced when it is valid for less than this. */
export const renewalMs = 60_000;

/**
 * Exchanges a token with the first call, and renews it before it expires: with the refresh token of its session, or by
 * another exchange. Concurrent calls wait for one exchange.
 */
export function exchangedToken({ server, subject, ...request }: ExchangedTokenOptions): TokenSource {
  checkServer(server);
  const source = typeof subject === "string" ? staticToken(subject) : subject;
  let current: ExchangedToken | undefined;
  /** When to renew it, by `performance.now()`: nobody sets that clock. */
  let renewMs = 0;
  let renewing: Promise<string> | undefined;

  async function renew(): Promise<ExchangedToken> {
    const session = current?.refreshToken;
    current = undefined; // a refresh token is used once
    if (session !== undefined) {
      try {
        return await refreshToken({ server }, session);
      } catch (error) {
        if (!(error instanceof PlatformError && error.code === Code.Unauthenticated)) throw error;
      }
    }
    return exchange();
  }

  async function exchange(): Promise<ExchangedToken> {
    const waiting = new AbortController();
    const late = () => new PlatformError("the source of the subject takes longer than 30 s", Code.DeadlineExceeded);
    const timer = setTimeout(() => waiting.abort(late()), timeoutMs);
    try {
      return await withToken(source, { server, signal: waiting.signal }, async (token) => {
        if (token === undefined) throw new PlatformError("there is no token to exchange", Code.Unauthenticated);
        return exchangeToken({ server }, token, request);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  function keep(next: ExchangedToken): string {
    const leftMs = next.expireTimeMs - Date.now();
    renewMs = performance.now() + leftMs - Math.min(renewalMs, leftMs / 2);
    current = next;
    return next.token;
  }

  return {
    async token() {
      if (current !== undefined && performance.now() < renewMs) return current.token;
      renewing ??= renew()
        .then(keep)
        .finally(() => {
          renewing = undefined;
        });
      return renewing;
    },
    refused(token) {
      if (current?.token === token) renewMs = 0;
      return true;
    },
  };
}
