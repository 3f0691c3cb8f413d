/** The settings of connections and of the proxies before the server. */
import { isIP } from "node:net";

/** Their values. Times are in milliseconds. */
export interface ConnectionConfig {
  /** Proxies that say who their clients are: networks or addresses. */
  readonly trustedProxies: readonly string[];
  /** The one header field in which they do. */
  readonly forwardedHeader: "x-forwarded-for" | "forwarded";
  /** Whether they do it by the PROXY protocol instead, at the beginning of each connection. */
  readonly proxyProtocol: "on" | "off";
  /** The most open connections of a process. */
  readonly maxConnections: number;
  /** Those of one address; undefined: a quarter. */
  readonly maxConnectionsPerAddress: number | undefined;
  /** How long an HTTP/1.1 connection may wait for its next request, and one of HTTP/2 for its next stream. */
  readonly keepAliveTimeout: number;
  readonly http2IdleTimeout: number;
  /** Whether responses over TLS require browsers to use TLS only (Strict-Transport-Security). */
  readonly hsts: "on" | "off";
  /** Further names by which the admin listener is reached. */
  readonly adminHosts: readonly string[];
}

/** Parses networks, `10.0.0.0/8`, and addresses, separated by commas. */
export function parseNetworks(value: string): readonly string[] {
  return itemsOf(value).map((item) => {
    const [address = "", bits, ...others] = item.split("/");
    const version = address.includes("%") ? 0 : isIP(address);
    const maxBits = version === 4 ? 32 : 128;
    const isValid = version > 0 && others.length === 0 && (bits === undefined || isCount(bits, maxBits));
    if (!isValid) throw new Error(`must be a list of addresses and networks like 10.0.0.0/8, not "${item}"`);
    return item;
  });
}

/** Parses the name of a header field with addresses of clients. */
export function parseForwardedHeader(value: string): "x-forwarded-for" | "forwarded" {
  const name = value.toLowerCase();
  if (name !== "x-forwarded-for" && name !== "forwarded") throw new Error("must be X-Forwarded-For or Forwarded");
  return name;
}
parseForwardedHeader.schema = { type: "string", pattern: "^(?:[Xx]-)?[Ff]orwarded(?:-[Ff]or)?$" };

/** Parses names of hosts, separated by commas. */
export function parseHosts(value: string): readonly string[] {
  return itemsOf(value).map((item) => {
    if (!/^[\w.-]{1,253}$/.test(item)) throw new Error(`must be a list of host names without ports, not "${item}"`);
    return item.toLowerCase();
  });
}

function itemsOf(value: string): string[] {
  return value.split(",").flatMap((item) => item.trim() || []);
}

function isCount(text: string, most: number): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) <= most;
}
