/** Conditional reads (RFC 9110, section 13): `If-None-Match`. Handlers check `If-Match`. */

import type { OutgoingHttpHeaders } from "node:http";
import { type HttpRequest, hasCurrent, headerOf } from "../../message/index.ts";

/**
 * Whether the client of a GET or HEAD has the current response: one of its entity tags, by weak comparison, is that of
 * the response, or `*`.
 */
export function isNotModified(request: HttpRequest, { etag }: OutgoingHttpHeaders): boolean {
  const given = headerOf(request, "if-none-match");
  if (given === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
  return hasCurrent(given, etag === undefined ? undefined : String(etag));
}
