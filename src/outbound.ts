/**
 * The HTTP client for addresses that tenants choose: issuers, key sets, event sinks. With it, a tenant can neither make
 * this server send requests to its own network (server-side request forgery) nor block it.
 *
 * A request is sent only if
 * - the URL is https without credentials, or http to a host spelled as loopback (`localhost`, 127/8, ::1) if the
 *   caller's setting allows that;
 * - a literal address, in any spelling that the URL standard accepts (`0x7f.1`, `2130706433`), is public;
 * - every address of a name is public. One private address is enough to refuse the name. The connection is made to the
 *   addresses that were checked, never to the result of a second resolution. Addresses are checked for every
 *   connection; {@link openOutbound} keeps one open for some seconds.
 *
 * Public means IANA global unicast. Ranges that embed or map to another address (v4-mapped, NAT64, 6to4, Teredo) are
 * not public.
 *
 * A response is limited in time (connection, head and body together) and in bytes. Redirects are returned, not
 * followed. Bodies are requested without a content coding and never decompressed.
 */
import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

/** The address is not allowed. Trying again does not help unless the name resolves to another one. */
export class OutboundRefused extends Error {
  override readonly name = "OutboundRefused";
}

/** The address is allowed, but there was no complete response: no route, TLS, time-out, too large. */
export class OutboundFailed extends Error {
  override readonly name = "OutboundFailed";
}

/** All addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** What to send, and the limits of the response. */
export interface OutboundOptions {
  /** Whether hosts spelled as loopback are allowed, also by http. For development. */
  readonly allowLoopbackHttp: boolean;
  /** Maximum size of the body, 1 MiB by default. 0: the body is not read. */
  readonly maxBytes?: number;
  /** For the whole request, 5 s by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** In place of the system's resolver. */
  readonly resolve?: Resolve;
}

/** A response of any status, redirects included. */
export interface OutboundAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

const maxUrlLength = 2048;

/**
 * Sends one request and returns the whole response.
 *
 * Errors: {@link OutboundRefused}, {@link OutboundFailed}.
 */
export async function fetchLimited(address: string, options: OutboundOptions): Promise<OutboundAnswer> {
  const { maxBytes = 1024 * 1024, timeoutMs = 5000, resolve = resolveBySystem } = options;
  const url = parseOutboundUrl(address, options.allowLoopbackHttp);
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const { Client } = await import("undici"); // loaded when first needed: most servers never need it
  const client = new Client(url.origin, {
    allowH2: false,
    pipelining: 0,
    ...(maxBytes > 0 && { maxResponseSize: maxBytes }),
    connect: { lookup: judgedLookup(resolve), timeout: timeoutMs },
  });
  // The request's own signal would wait for the connection.
  signal.addEventListener("abort", () => void client.destroy(signal.reason));
  try {
    signal.throwIfAborted();
    const answer = await client.request({
      method: options.method ?? "GET",
      path: url.pathname + url.search,
      headers: { ...options.headers, "accept-encoding": "identity" },
      body: options.body ?? null,
    });
    const { statusCode: status, headers } = answer;
    if (maxBytes === 0) {
      answer.body.on("error", () => {}); // destroyed below
      return { status, headers, body: new Uint8Array() };
    }
    if ((headers["content-encoding"] ?? "identity") !== "identity") throw new Error("the answer is compressed");
    return { status, headers, body: await answer.body.bytes() };
  } catch (error) {
    if (error instanceof OutboundRefused) throw error;
    throw new OutboundFailed(`no answer from ${url.host}`, { cause: error });
  } finally {
    await client.destroy();
  }
}

/** Options of a connection for many requests. */
export interface OutboundConnectionOptions extends Pick<OutboundOptions, "allowLoopbackHttp" | "resolve"> {
  /** For one whole request. */
  readonly timeoutMs: number;
  /** How much of a response's body is read before the connection is closed. */
  readonly maxAnswerBytes: number;
}

/**
 * A connection to one address, for one request at a time. It is opened by the first, and again after a failure or some
 * idle seconds.
 */
export interface OutboundConnection {
  /**
   * Posts a body and returns the status and headers of the response. Its body is read and dropped; one that is too long
   * or does not end in time is not an error.
   *
   * Errors: {@link OutboundRefused}, {@link OutboundFailed}.
   */
  post(headers: Readonly<Record<string, string>>, body: string): Promise<Omit<OutboundAnswer, "body">>;
  /** Closes the connection, and fails the request under way. */
  close(): void;
}

const maxIdleMs = 10_000;

/**
 * Prepares a connection for many requests to one address.
 *
 * Errors: {@link OutboundRefused}.
 */
export async function openOutbound(address: string, options: OutboundConnectionOptions): Promise<OutboundConnection> {
  const { allowLoopbackHttp, resolve = resolveBySystem, timeoutMs, maxAnswerBytes } = options;
  const url = parseOutboundUrl(address, allowLoopbackHttp);
  const { Client } = await import("undici");
  const connect = () =>
    new Client(url.origin, {
      allowH2: false,
      pipelining: 1,
      keepAliveMaxTimeout: maxIdleMs,
      connect: { lookup: judgedLookup(resolve), timeout: timeoutMs },
    });
  let client: InstanceType<typeof Client> | undefined;

  function end(reason: Error): void {
    client?.destroy(reason).catch(() => {});
    client = undefined;
  }

  return {
    async post(headers, body) {
      client ??= connect();
      const timer = setTimeout(() => end(new DOMException("too slow", "TimeoutError")), timeoutMs);
      try {
        const path = url.pathname + url.search;
        const answer = await client.request({ method: "POST", path, headers, body });
        if (!(await endsWithin(answer.body, maxAnswerBytes))) end(new Error("the answer has no end"));
        return { status: answer.statusCode, headers: answer.headers };
      } catch (error) {
        end(new Error("the request has failed"));
        if (error instanceof OutboundRefused) throw error;
        throw new OutboundFailed(`no answer from ${url.host}`, { cause: error });
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => end(new Error("the connection is closed")),
  };
}

/** Reads a body to its end; false if it is too long or broken off. */
async function endsWithin(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<boolean> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxBytes) return false;
    }
    return true;
  } catch {
    return false; // broken off: the status is enough
  }
}

/**
 * Parses the URL of a request and checks everything but the addresses that its name resolves to.
 *
 * Errors: {@link OutboundRefused}.
 */
export function parseOutboundUrl(address: string, allowLoopbackHttp: boolean): URL {
  const url = address.length > maxUrlLength ? null : URL.parse(address);
  if (url === null) throw new OutboundRefused("not a URL");
  if (url.username !== "" || url.password !== "") throw new OutboundRefused("the URL carries credentials");
  const loopback = allowLoopbackHttp && isLoopbackHost(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && loopback))
    throw new OutboundRefused("the URL is not https");
  if (!loopback && isForbiddenAddress(url.hostname)) throw new OutboundRefused("the address is not public");
  return url;
}

/**
 * Whether a host, as written in a URL (brackets optional), is `localhost` or a literal address that is not public, in
 * any spelling. Other names are allowed here; the addresses that they resolve to are checked for every connection.
 */
export function isForbiddenAddress(host: string): boolean {
  const hostname = canonicalHost(host);
  if (hostname === undefined) return true;
  const literal = literalOf(hostname);
  return literal === undefined ? isLocalhost(hostname) : !isPublic(literal);
}

/**
 * The host as the URL standard normalises it (lower case, addresses in their usual form); undefined if it is malformed.
 */
function canonicalHost(host: string): string | undefined {
  const url = URL.parse(`https://${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}`);
  return url === null || url.href !== `https://${url.hostname}/` ? undefined : url.hostname;
}

function literalOf(canonicalHost: string): string | undefined {
  if (canonicalHost.startsWith("[")) return canonicalHost.slice(1, -1);
  return ipaddr.IPv4.isValidFourPartDecimal(canonicalHost) ? canonicalHost : undefined;
}

function isLocalhost(canonicalHost: string): boolean {
  return /^(?:.*\.)?localhost\.?$/.test(canonicalHost);
}

function isLoopbackHost(canonicalHost: string): boolean {
  const literal = literalOf(canonicalHost);
  return literal === undefined ? isLocalhost(canonicalHost) : isLoopback(literal);
}

function isLoopback(address: string): boolean {
  return ipaddr.parse(address).range() === "loopback";
}

/** Global unicast, except for the public address at which Azure's host agent answers to its own machines. */
function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast" || address === "168.63.129.16") return false;
  return !(parsed instanceof ipaddr.IPv6) || parsed.match(ipaddr.IPv6.parse("2000::"), 3);
}

/** Resolves a name by the system's resolver. */
export const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true });

/**
 * The name resolution of a connection to a URL of {@link parseOutboundUrl}. It checks every address; a host spelled as
 * loopback must resolve to loopback.
 */
export function judgedLookup(resolve: Resolve): LookupFunction {
  const check: Resolve = async (hostname) => {
    const addresses = await resolve(hostname);
    const isAllowed = isLocalhost(hostname) ? isLoopback : isPublic;
    if (addresses.length === 0) throw new Error(`${hostname} has no address`);
    if (!addresses.every(({ address }) => isAllowed(address)))
      throw new OutboundRefused("the name resolves to an address that is not public");
    return addresses;
  };
  return (hostname, options, callback) => {
    check(hostname).then(
      (addresses) =>
        options.all ? callback(null, [...addresses]) : callback(null, addresses[0]!.address, addresses[0]!.family),
      (error) => callback(error, "", 0),
    );
  };
}
