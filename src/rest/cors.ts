/** Cross-origin calls from browsers (the CORS protocol of the Fetch standard), without credentials such as cookies. */
import type { ServerResponse } from "node:http";
import { addVary, type HttpRequest, type HttpResponse, headerOf } from "../message/index.ts";

/** Which pages of other origins may call. */
export interface CorsOptions {
  /** Origins such as `https://app.example.com`; `*` for all. */
  readonly origins: readonly string[];
  /** The header fields that a page may read besides those that it always may; default none. */
  readonly exposedHeaders?: readonly string[] | undefined;
  /** Seconds for which a browser may keep the answer to a preflight; default 7,200. */
  readonly maxAgeSeconds?: number | undefined;
}

const usualMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Returns a function that sets the header fields of a response. It is true if the request was a preflight, which it has
 * answered. A page may use any method and header field.
 */
export function createCors(options: CorsOptions): (request: HttpRequest, response: HttpResponse) => boolean {
  const { origins, exposedHeaders = [], maxAgeSeconds = 7200 } = options;
  return (request, response) => {
    const origin = headerOf(request, "origin");
    addVary(response, "Origin");
    if (origin === undefined || !(origins.includes(origin) || origins.includes("*"))) return false;
    response.setHeader("access-control-allow-origin", origin);
    if (exposedHeaders.length > 0) response.setHeader("access-control-expose-headers", exposedHeaders.join(", "));
    const method = headerOf(request, "access-control-request-method");
    if (request.method !== "OPTIONS" || method === undefined) return false;
    const headers: Record<string, string> = {
      "access-control-allow-methods": [...new Set([...usualMethods, method])].join(", "),
      "access-control-max-age": String(maxAgeSeconds),
    };
    const asked = headerOf(request, "access-control-request-headers");
    if (asked !== undefined) headers["access-control-allow-headers"] = asked;
    (response as ServerResponse).writeHead(204, headers).end("", "latin1");
    return true;
  };
}
