/** Where connections come from. */
import type { X509Certificate } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { canonicalAddress } from "./networks.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** The other end of a connection. */
export interface Origin {
  /** That of the peer, or of the client that the peer names by the PROXY protocol; undefined if it had gone at once. */
  readonly address: string | undefined;
  /** The proxies, if the peer is one of them, and names its clients in each request. */
  readonly proxies: TrustedProxies | undefined;
  /** The certificate of the peer, if the port has verified it. */
  readonly certificate?: X509Certificate;
}

const origin = Symbol("where a connection comes from");

/** What may stand for a connection: its socket, or what passes it on to Node's HTTP/2. */
type Connection = object & { [origin]?: Origin; readonly remoteAddress?: string | undefined };

/** Notes where a connection comes from. */
export function setOrigin(connection: Connection, value: Origin): void {
  connection[origin] = value;
}

/** Where a connection comes from. */
export function originOf(connection: Connection): Origin {
  return connection[origin] ?? { address: peerAddressOf(connection), proxies: undefined };
}

/** The address of the peer of a socket; undefined if it has gone. */
export function peerAddressOf({ remoteAddress }: Connection): string | undefined {
  return remoteAddress && canonicalAddress(remoteAddress);
}

/** The address of the client of a request. */
export function clientAddressOf(connection: Connection, headers: IncomingHttpHeaders): string | undefined {
  const { address, proxies } = originOf(connection);
  return address === undefined || proxies === undefined ? address : proxies.clientOf(headers, address);
}
