/**
 * Requests to a registry and to hosts named in its responses.
 *
 * The registry's own host is chosen by the operator and may be any address, also over http. A host named in a response,
 * by a redirect or as token issuer, must be the same or a public one over https, checked as in `outbound.ts`. Requests
 * never go from https to http, and credentials never follow a redirect to another origin.
 *
 * Responses are limited in bytes and time. Temporary failures (429, 5xx, no response) are retried after `Retry-After`,
 * or with exponential back-off and jitter.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "undici";
import { fetchLimited, OutboundRefused } from "../../../outbound.ts";
import { RegistryFailure, RegistryRefusal } from "./errors.ts";

/** A request. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: "GET" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  /** Size limit of the response body. */
  readonly maxBytes: number;
  /** Timeout of one attempt, that of the client by default. */
  readonly timeoutMs?: number;
}

/** A response of any status, with redirects followed. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

/** Options of requests. */
export interface HttpOptions {
  /** Aborts requests in progress. */
  readonly signal?: AbortSignal | undefined;
  /** Timeout of one attempt, 30 s by default. */
  readonly timeoutMs?: number;
  /** Limit of attempts for a request, 5 by default. */
  readonly maxAttempts?: number;
  /** Replaces the wait between attempts. */
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** The client of one registry. */
export interface RegistryHttp {
  /** Errors: RegistryRefusal, RegistryFailure. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): Promise<void>;
}

const connections = 8;
const maxRedirects = 5;
const firstWaitMs = 500;
const maxWaitMs = 60_000;

/** @param base URL given by the operator. */
export function createRegistryHttp(
  base: URL,
  { signal, timeoutMs: defaultTimeoutMs = 30_000, maxAttempts = 5, wait }: HttpOptions,
): RegistryHttp {
  const pools = new Map<string, Pool>();
  const silenceLimits = { headersTimeout: defaultTimeoutMs, bodyTimeout: defaultTimeoutMs };
  const pause = wait ?? ((ms: number) => sleep(ms, undefined, signal && { signal }));

  async function poolOf(origin: string): Promise<Pool> {
    const { Pool } = await import("undici"); // on first use: a server may never need it
    let pool = pools.get(origin);
    if (pool === undefined) {
      pool = new Pool(origin, { connections, allowH2: false, ...silenceLimits });
      pools.set(origin, pool);
    }
    return pool;
  }

  /** Sends to the registry's own host. */
  async function sendToRegistry(request: HttpRequest): Promise<HttpAnswer> {
    const { url, method, headers, maxBytes, timeoutMs = defaultTimeoutMs } = request;
    const pool = await poolOf(url.origin);
    const limit = timeLimit(timeoutMs, signal);
    try {
      const answer = await pool.request({
        method,
        path: url.pathname + url.search,
        headers: { ...headers, "accept-encoding": "identity" },
        signal: limit.signal,
      });
      const chunks: Uint8Array[] = [];
      let length = 0;
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        length += chunk.length;
        if (length > maxBytes)
          throw new RegistryRefusal(`${url.pathname}: the response is larger than ${maxBytes} bytes`);
        chunks.push(chunk);
      }
      if ((answer.headers["content-encoding"] ?? "identity") !== "identity")
        throw new RegistryRefusal(`${url.pathname}: the response is compressed`);
      return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) };
    } catch (error) {
      if (error instanceof RegistryRefusal) throw error;
      throw new RegistryFailure(`no response from ${url.host}`, { cause: error });
    } finally {
      limit.release();
    }
  }

  /** Sends to a host named in a response. */
  async function sendToOtherHost(request: HttpRequest): Promise<HttpAnswer> {
    const { url, method, headers, maxBytes, timeoutMs = defaultTimeoutMs } = request;
    if (method !== "GET") throw new RegistryRefusal(`${url.host}: only a GET may be redirected to another host`);
    try {
      const options = { allowLoopbackHttp: false, maxBytes, timeoutMs, headers, ...(signal && { signal }) };
      return await fetchLimited(url.href, options);
    } catch (error) {
      if (error instanceof OutboundRefused)
        throw new RegistryRefusal(`${url.host}: ${error.message}`, { cause: error });
      throw new RegistryFailure(`no response from ${url.host}`, { cause: error });
    }
  }

  async function follow(request: HttpRequest): Promise<HttpAnswer> {
    let current = request;
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const isRegistry = current.url.hostname === base.hostname;
      if (isRegistry && base.protocol === "https:" && current.url.protocol !== "https:")
        throw new RegistryRefusal(`${current.url.host}: redirects from https to http`);
      const answer = await (isRegistry ? sendToRegistry(current) : sendToOtherHost(current));
      const location = answer.headers.location;
      if (![301, 302, 303, 307, 308].includes(answer.status) || typeof location !== "string") return answer;
      const url = URL.parse(location, current.url.href);
      if (url === null || !/^https?:$/.test(url.protocol)) throw new RegistryRefusal("redirects to an invalid URL");
      const { authorization: _, ...others } = current.headers;
      current = { ...current, url, headers: url.origin === current.url.origin ? current.headers : others };
    }
    throw new RegistryRefusal(`${request.url.pathname}: redirects more than ${maxRedirects} times`);
  }

  return {
    async send(request) {
      for (let attempt = 1; ; attempt++) {
        const answer = await follow(request).catch((error: unknown) => {
          if (!(error instanceof RegistryFailure) || attempt === maxAttempts || signal?.aborted) throw error;
          return undefined;
        });
        if (answer !== undefined && !isTemporary(answer.status)) return answer;
        if (answer !== undefined && attempt === maxAttempts)
          throw new RegistryFailure(`${request.url.host} answers ${answer.status}`);
        await pause(waitMs(attempt, answer));
      }
    },
    close: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
    },
  };
}

/**
 * A signal that aborts one request, and a function that releases it. `AbortSignal.timeout` would keep the request in
 * memory until the timeout.
 */
function timeLimit(ms: number, signal: AbortSignal | undefined) {
  const controller = new AbortController();
  const stop = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => controller.abort(new Error("no complete response in time")), ms);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    },
  };
}

function isTemporary(status: number): boolean {
  return status === 429 || status === 500 || status === 502 || status === 503 || status === 504;
}

/** The delay before the next attempt: `Retry-After`, or at least half of a time that doubles with every attempt. */
function waitMs(attempt: number, answer: HttpAnswer | undefined): number {
  const header = answer?.headers["retry-after"];
  const text = typeof header === "string" ? header.trim() : "";
  const retryAfterMs = /^[0-9]{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  const backOffMs = firstWaitMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
  return Math.min(maxWaitMs, Number.isNaN(retryAfterMs) ? backOffMs : Math.max(retryAfterMs, backOffMs));
}
