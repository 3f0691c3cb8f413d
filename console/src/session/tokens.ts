/**
 * The access token of a tab. It is in memory only. Somebody who signed in at an OpenID provider has a session: its
 * refresh token is in a cookie that no script reads, and renews the access token of every tab.
 */
import { Code } from "@connectrpc/connect";
import {
  claimsOf,
  type ExchangedToken,
  exchangeToken,
  PlatformError,
  refreshToken,
  renewalMs,
  revokeToken,
  type TokenSource,
} from "../../../src/client/index.ts";

const service = { server: location.origin, session: "cookie" } as const;

/** Set in localStorage while the browser may have a session. The cookie itself cannot be seen. */
const sessionMark = "platform.session";

/** The messages between tabs about the session. */
type SessionNews = "begun" | "ended";

export class Tokens implements TokenSource {
  #token: string | undefined;
  /** When to renew the token; undefined for one that has no session. */
  #expireTimeMs: number | undefined;
  #renewing: Promise<void> | undefined;
  readonly #news = new BroadcastChannel("platform.session");

  /** The claims of the token; undefined without one. */
  get claims(): Readonly<Record<string, unknown>> | undefined {
    return this.#token === undefined ? undefined : claimsOf(this.#token);
  }

  /** Whether the token is that of a session, and is renewed. */
  get hasSession(): boolean {
    return this.#expireTimeMs !== undefined;
  }

  /** Takes a token that cannot be renewed. */
  take(token: string): void {
    this.#token = token;
    this.#expireTimeMs = undefined;
  }

  /**
   * Begins a session. @param idToken of an OpenID provider. @param identityProvider uid of that of the platform.
   * Errors: PlatformError.
   */
  async begin(idToken: string, identityProvider: string | undefined): Promise<void> {
    this.#keep(await inTurn(() => exchangeToken(service, idToken, { identityProvider })));
    localStorage.setItem(sessionMark, "cookie");
    this.#tell("begun");
  }

  /** Goes on with the session of the browser, if it has one. Errors: PlatformError. */
  async resume(): Promise<void> {
    if (localStorage.getItem(sessionMark) === null) return;
    try {
      await this.renew();
    } catch (error) {
      if (!hasEnded(error)) throw error;
      localStorage.removeItem(sessionMark);
    }
  }

  /** Takes the next token of the session. Errors: PlatformError. */
  async renew(): Promise<void> {
    this.#keep(await inTurn(() => refreshToken(service)));
  }

  /** Ends the session of the browser, in all tabs, or forgets a token without one. Errors: PlatformError. */
  async end(): Promise<void> {
    if (this.hasSession) {
      await inTurn(() => revokeToken(service)).catch((error: unknown) => {
        if (!hasEnded(error)) throw error;
      });
      localStorage.removeItem(sessionMark);
      this.#tell("ended");
    }
    this.forget();
  }

  forget(): void {
    this.#token = undefined;
    this.#expireTimeMs = undefined;
  }

  /** Calls back when another tab has begun or ended the session of the browser. Returns how to stop that. */
  watch(onNews: (news: SessionNews) => void): () => void {
    const listener = ({ data }: MessageEvent<SessionNews>) => onNews(data);
    this.#news.addEventListener("message", listener);
    return () => this.#news.removeEventListener("message", listener);
  }

  async token(): Promise<string | undefined> {
    if (this.#expireTimeMs !== undefined && this.#expireTimeMs - Date.now() < renewalMs) {
      this.#renewing ??= this.renew().finally(() => {
        this.#renewing = undefined;
      });
      await this.#renewing;
    }
    return this.#token;
  }

  refused(token: string): boolean {
    if (!this.hasSession) return false;
    if (token === this.#token) this.#expireTimeMs = 0;
    return true;
  }

  #keep({ token, expireTimeMs }: ExchangedToken): void {
    this.#token = token;
    this.#expireTimeMs = expireTimeMs;
  }

  #tell(news: SessionNews): void {
    this.#news.postMessage(news);
  }
}

/** Runs what changes the cookie while no other tab does: a refresh token is used once. */
function inTurn<T>(run: () => Promise<T>): Promise<T> {
  return navigator.locks.request("platform.session", run);
}

/** Whether an error says that there is no session: its refresh token is not valid, or there is no cookie. */
function hasEnded(error: unknown): boolean {
  return error instanceof PlatformError && [Code.Unauthenticated, Code.InvalidArgument].includes(error.code);
}
