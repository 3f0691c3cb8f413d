/** The settings of connections and of the proxies before the server, for the table of settings. */
import { isIP } from "node:net";
import { aNumber, onOrOff } from "./kinds.ts";
import { parseDuration } from "./values.ts";

/** Parses networks, `10.0.0.0/8`, and addresses, separated by commas. */
function parseNetworks(value: string): readonly string[] {
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
function parseForwardedHeader(value: string): "x-forwarded-for" | "forwarded" {
  const name = value.toLowerCase();
  if (name !== "x-forwarded-for" && name !== "forwarded") throw new Error("must be X-Forwarded-For or Forwarded");
  return name;
}
parseForwardedHeader.schema = { type: "string", pattern: "^(?:[Xx]-)?[Ff]orwarded(?:-[Ff]or)?$" };

/** Parses names of hosts, separated by commas. */
function parseHosts(value: string): readonly string[] {
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

/** Parses the time for which an idle connection is kept: Node takes 0 for no limit. */
function parseIdleTime(value: string): number {
  const ms = parseDuration(value);
  if (ms < 1000 || ms > 24 * 3_600_000) throw new Error(`must be a duration from 1s to 24h, not "${value}"`);
  return ms;
}
parseIdleTime.schema = parseDuration.schema;

/** The settings. */
export const connectionSettings = {
  trustedProxies: {
    help: "networks of the proxies whose statements about client addresses are trusted: 10.0.0.0/8,192.0.2.1 (default: none)",
    placeholder: "CIDR,…",
    default: "",
    parse: parseNetworks,
  },
  forwardedHeader: {
    help: "with --trusted-proxies, the header field in which they pass the client address: X-Forwarded-For, or Forwarded (RFC 7239)",
    placeholder: "NAME",
    default: "X-Forwarded-For",
    parse: parseForwardedHeader,
  },
  proxyProtocol: {
    help: "with --trusted-proxies, whether each of their connections begins with a header of the PROXY protocol (version 1 or 2), which is then used instead: on or off",
    ...onOrOff("off"),
  },
  maxConnections: {
    help: "maximum number of open connections of a process; those beyond it are closed",
    ...aNumber("10000", 1, 1_000_000),
  },
  maxConnectionsPerAddress: {
    help: "maximum number of those from one address, except from trusted proxies (default: a quarter)",
    ...aNumber(undefined, 1, 1_000_000),
  },
  keepAliveTimeout: {
    help: "how long an HTTP/1.1 connection may wait for its next request; give it more than balancers wait",
    placeholder: "DURATION",
    default: "75s",
    parse: parseIdleTime,
  },
  http2IdleTimeout: {
    help: "how long an HTTP/2 connection may be without a stream; give it more than balancers wait",
    placeholder: "DURATION",
    default: "300s",
    parse: parseIdleTime,
  },
  hsts: {
    help: "with TLS, whether answers tell browsers to use only https for a year (Strict-Transport-Security): on or off",
    ...onOrOff("on"),
  },
  adminHosts: {
    help: "additional host names under which /metrics and /debug of the admin listener are reached, comma-separated; addresses and names without a dot are always accepted",
    placeholder: "LIST",
    default: "",
    parse: parseHosts,
  },
} as const;
