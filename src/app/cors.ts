/** Cross-origin calls from browsers (the CORS protocol of the Fetch standard). Off unless origins are configured. */

import { cors } from "@connectrpc/connect";
import type { BufferedResponse, PortRequest, PortResponse } from "../message/index.ts";

const maxAgeSeconds = 2 * 60 * 60;
const methods = [...new Set([...cors.allowedMethods, "GET", "HEAD", "POST", "PATCH", "DELETE"])].join(", ");
const requestHeaders = [
  ...cors.allowedHeaders,
  "Authorization",
  "Baggage",
  "Idempotency-Key",
  "If-Match",
  "If-None-Match",
  "Traceparent",
  "Tracestate",
  "X-Request-Id",
  "X-Server-Timeout",
];
const responseHeaders = [
  ...cors.exposedHeaders,
  "ETag",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "WWW-Authenticate",
  "X-Page-Restarted",
  "X-Request-Id",
].join(", ");

/**
 * Sets the CORS headers of a response. True if the request was a preflight, which is answered. `moreHeaders`: header
 * fields that a page may send besides those of every server.
 */
export function handleCors(
  origins: readonly string[],
  request: PortRequest,
  response: PortResponse,
  moreHeaders: readonly string[] = [],
): boolean {
  if (!setCorsHeaders(origins, request, response)) return false;
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false;
  response.setHeader("access-control-allow-methods", methods);
  response.setHeader("access-control-allow-headers", [...requestHeaders, ...moreHeaders].join(", "));
  response.setHeader("access-control-max-age", String(maxAgeSeconds));
  response.statusCode = 204;
  response.end();
  return true;
}

/** Sets the CORS headers of a response to a request that is not a preflight. True if its origin may read it. */
export function setCorsHeaders(
  origins: readonly string[],
  { headers }: Pick<PortRequest, "headers">,
  response: Pick<BufferedResponse, "setHeader">,
): boolean {
  if (origins.length === 0) return false;
  const { origin } = headers;
  response.setHeader("vary", "Origin");
  if (origin === undefined || !(origins.includes(origin) || origins.includes("*"))) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", responseHeaders);
  return true;
}
