/**
 * Refuses what a web page has a browser on this machine or network ask of the admin listener: pages of other origins,
 * and pages whose name was made to resolve to the address of the listener (DNS rebinding).
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { isOfSameOrigin } from "../../message/index.ts";

/** Why a request is refused; undefined if it is not. `hosts`: names of the listener. */
export function refusalOfPage(request: IncomingMessage, hosts: readonly string[]): string | undefined {
  if (!isKnownHost(request.headers.host, hosts))
    return "the host of the request is not known: use the address of the listener, or name the host in --admin-hosts";
  // What somebody has typed is `none`.
  if (request.headers["sec-fetch-site"] === "none" || isOfSameOrigin(request)) return undefined;
  return "a page of another origin may not ask";
}

/** Addresses are safe, and no foreign site can have a name without a dot. */
function isKnownHost(host: string | undefined, hosts: readonly string[]): boolean {
  const name = (host ?? "")
    .replace(/:\d*$/, "")
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  return isIP(name) !== 0 || !name.includes(".") || name === hostname().toLowerCase() || hosts.includes(name);
}
