/**
 * Requests to one registry, and to the hosts that its answers name.
 *
 * The registry's own host is the operator's choice and may be anywhere, by http too. A host learned from an answer, a redirect's or that of a
 * token's issuer, is either the same or a public one at https, judged as in `outbound.ts`. Nothing goes from https to http, and no credentials
 * follow a redirect to another origin.
 *
 * Answers are bounded in bytes and in time. What may pass (429, 5xx, no answer) is tried again, after what `Retry-After` says or a wait that
 * doubles, with jitter.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "undici";
import { fetchLimited, OutboundRefused } from "../../outbound.ts";
import { RegistryFailure, RegistryRefusal } from "./errors.ts";

/** One request. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: "GET" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  /** Largest body. */
  readonly maxBytes: number;
}

/** An answer, of any status but redirects. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

/** How requests are made. */
export interface HttpOptions {
  /** Ends all that is under way. */
  readonly signal?: AbortSignal | undefined;
  /** For one answer, 30 s by default. */
  readonly timeoutMs?: number;
  /** How often a request is made at most, 5 times by default. */
  readonly maxAttempts?: number;
  /** Waits between two attempts; the system's clock by default. */
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

/** @param base the address that the operator named. */
export function createRegistryHttp(
  base: URL,
  { signal, timeoutMs = 30_000, maxAttempts = 5, wait }: HttpOptions,
): RegistryHttp {
  const pools = new Map<string, Pool>();
  const pause = wait ?? ((ms: number) => sleep(ms, undefined, signal && { signal }));

  async function poolOf(origin: string): Promise<Pool> {
    const { Pool } = await import("undici"); // only when first needed: a server may never
    let pool = pools.get(origin);
    if (pool === undefined) {
      pool = new Pool(origin, { connections, allowH2: false, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
      pools.set(origin, pool);
    }
    return pool;
  }

  /** One request to the registry's own host. */
  async function sendHome({ url, method, headers, maxBytes }: HttpRequest): Promise<HttpAnswer> {
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
          throw new RegistryRefusal(`${url.pathname}: the answer is larger than ${maxBytes} bytes`);
        chunks.push(chunk);
      }
      if ((answer.headers["content-encoding"] ?? "identity") !== "identity")
        throw new RegistryRefusal(`${url.pathname}: the answer is compressed`);
      return { status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) };
    } catch (error) {
      if (error instanceof RegistryRefusal) throw error;
      throw new RegistryFailure(`no answer from ${url.host}`, { cause: error });
    } finally {
      limit.release();
    }
  }

  /** One request to a host that an answer named. */
  async function sendAbroad({ url, method, headers, maxBytes }: HttpRequest): Promise<HttpAnswer> {
    if (method !== "GET") throw new RegistryRefusal(`${url.host}: only a GET may be redirected to another host`);
    try {
      const options = { allowLoopbackHttp: false, maxBytes, timeoutMs, headers, ...(signal && { signal }) };
      return await fetchLimited(url.href, options);
    } catch (error) {
      if (error instanceof OutboundRefused)
        throw new RegistryRefusal(`${url.host}: ${error.message}`, { cause: error });
      throw new RegistryFailure(`no answer from ${url.host}`, { cause: error });
    }
  }

  async function follow(request: HttpRequest): Promise<HttpAnswer> {
    let current = request;
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const isHome = current.url.hostname === base.hostname;
      if (isHome && base.protocol === "https:" && current.url.protocol !== "https:")
        throw new RegistryRefusal(`${current.url.host}: leads from https to http`);
      const answer = await (isHome ? sendHome(current) : sendAbroad(current));
      const location = answer.headers.location;
      if (![301, 302, 303, 307, 308].includes(answer.status) || typeof location !== "string") return answer;
      const url = URL.parse(location, current.url.href);
      if (url === null || !/^https?:$/.test(url.protocol)) throw new RegistryRefusal("redirects to what is no address");
      const { authorization: _, ...open } = current.headers;
      current = { ...current, url, headers: url.origin === current.url.origin ? current.headers : open };
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
        if (answer !== undefined && !isPassing(answer.status)) return answer;
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

/** A signal that ends one request. Released by hand: of `AbortSignal.timeout` each would live on for its whole time, and keep its request. */
function timeLimit(ms: number, signal: AbortSignal | undefined) {
  const controller = new AbortController();
  const stop = () => controller.abort(signal?.reason);
  const timer = setTimeout(() => controller.abort(new Error("no whole answer in time")), ms);
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

function isPassing(status: number): boolean {
  return status === 429 || status === 500 || status === 502 || status === 503 || status === 504;
}

/** How long to wait before the next attempt: what the answer says, else half to all of a time that doubles. */
function waitMs(attempt: number, answer: HttpAnswer | undefined): number {
  const said = answer?.headers["retry-after"];
  const text = typeof said === "string" ? said.trim() : "";
  const saidMs = /^[0-9]{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  const ownMs = firstWaitMs * 2 ** (attempt - 1) * (0.5 + Math.random() / 2);
  return Math.min(maxWaitMs, Number.isNaN(saidMs) ? ownMs : Math.max(saidMs, ownMs));
}
