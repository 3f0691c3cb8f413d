/**
 * The HTTP client for addresses that tenants choose: issuers, key sets, event sinks. It exists so that a tenant cannot make this server
 * speak to the network it stands in (server-side request forgery) nor hold it up.
 *
 * A request goes out only when
 * - the URL is https without credentials; http only to a host spelled as loopback (`localhost`, 127/8, ::1) and only when the caller's
 *   setting allows loopback at all;
 * - a literal host, in whatever spelling the URL standard reads as an address (`0x7f.1`, `2130706433`), is public;
 * - every address a name resolves to is public. One private address among them refuses the name. The connection is made to the
 *   addresses that were judged, never to the result of a second resolution. No connection is reused, so each attempt is judged anew.
 *
 * Public means IANA global unicast. Ranges that embed or stand for another address (v4-mapped, NAT64, 6to4, Teredo) are not.
 *
 * An answer is bounded in time (connection, head and body together) and in bytes. Redirects are returned, not followed. Bodies are asked
 * for unencoded and never decompressed.
 */
import { lookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

/** The address is not one this server will speak to. Trying again does not help unless the name is moved. */
export class OutboundRefused extends Error {
  override readonly name = "OutboundRefused";
}

/** The address is allowed but no complete answer came: no route, TLS, time-out, too large. */
export class OutboundFailed extends Error {
  override readonly name = "OutboundFailed";
}

/** All addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/** What to send and how long to listen. */
export interface OutboundOptions {
  /** Whether hosts spelled as loopback may be reached, by http too. For development. */
  readonly allowLoopbackHttp: boolean;
  /** Largest body, 1 MiB by default. 0 reads no body: the answer is its status and headers. */
  readonly maxBytes?: number;
  /** For everything together, 5 s by default. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** In place of the system's resolver. */
  readonly resolve?: Resolve;
}

/** An answer of any status, redirects included. */
export interface OutboundAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

const maxUrlLength = 2048;

/**
 * Sends one request and gives the whole answer.
 *
 * Errors: {@link OutboundRefused}, {@link OutboundFailed}.
 */
export async function fetchLimited(address: string, options: OutboundOptions): Promise<OutboundAnswer> {
  const { maxBytes = 1024 * 1024, timeoutMs = 5000, resolve = resolveBySystem } = options;
  const url = parseOutboundUrl(address, options.allowLoopbackHttp);
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const { Client } = await import("undici"); // only when first needed: most servers never are
  const client = new Client(url.origin, {
    allowH2: false,
    pipelining: 0,
    ...(maxBytes > 0 && { maxResponseSize: maxBytes }),
    connect: { lookup: judgedLookup(resolve), timeout: timeoutMs },
  });
  // Not the request's own signal: that one waits for the connection.
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
      answer.body.on("error", () => {}); // it is cut off below, on purpose
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

/**
 * The URL, if a request to it may be tried: everything about it is judged but the addresses its name resolves to.
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
 * Whether a host, as written in a URL (brackets optional), is `localhost` or a literal address that is not public, in any spelling.
 * Other names are not forbidden as such; what they resolve to is judged at every request.
 */
export function isForbiddenAddress(host: string): boolean {
  const hostname = canonicalHost(host);
  if (hostname === undefined) return true;
  const literal = literalOf(hostname);
  return literal === undefined ? isLocalhost(hostname) : !isPublic(literal);
}

/** The host as the URL standard reads it (lower case, addresses in their usual form), or undefined when it is none. */
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

/** Global unicast, one address excepted: Azure's host agent answers at a public one, to its own machines only. */
function isPublic(address: string): boolean {
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast" || address === "168.63.129.16") return false;
  return !(parsed instanceof ipaddr.IPv6) || parsed.match(ipaddr.IPv6.parse("2000::"), 3);
}

const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true });

/** The name resolution of a connection. A host spelled as loopback, which the URL check let pass, may only lead to loopback. */
function judgedLookup(resolve: Resolve): LookupFunction {
  const judge: Resolve = async (hostname) => {
    const addresses = await resolve(hostname);
    const isAllowed = isLocalhost(hostname) ? isLoopback : isPublic;
    if (addresses.length === 0) throw new Error(`${hostname} has no address`);
    if (!addresses.every(({ address }) => isAllowed(address)))
      throw new OutboundRefused("the name resolves to an address that is not public");
    return addresses;
  };
  return (hostname, options, callback) => {
    judge(hostname).then(
      (addresses) =>
        options.all ? callback(null, [...addresses]) : callback(null, addresses[0]!.address, addresses[0]!.family),
      (error) => callback(error, "", 0),
    );
  };
}
