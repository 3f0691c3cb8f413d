/** Whether browsers say that a request comes from elsewhere. */
import { type HttpRequest, headerOf } from "./message.ts";

/**
 * Whether a request comes from a page of its own origin, or from no browser. `hosts`: those of the server besides the
 * one that the request names, because a proxy may pass on another than the browser asked for.
 */
export function isOfSameOrigin(request: HttpRequest, hosts: readonly string[] = []): boolean {
  const site = headerOf(request, "sec-fetch-site");
  if (site !== undefined && site !== "same-origin") return false;
  const origin = headerOf(request, "origin");
  if (origin === undefined) return true;
  const host = URL.parse(origin)?.host; // the origin of a sandboxed page is `null`
  return host !== undefined && [...hosts, headerOf(request, "host"), headerOf(request, ":authority")].includes(host);
}
