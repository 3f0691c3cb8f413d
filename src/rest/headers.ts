/**
 * Headers between HTTP and the call: all but those of one hop (RFC 9110, section 7.6.1), of the content, and of the
 * protocols gRPC and Connect, which a transport writes itself.
 */

import type { OutgoingHttpHeaders } from "node:http";
import { type HttpRequest, headerOf } from "../message/index.ts";

const hopAndContent = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "content-encoding",
  "content-length",
  "content-type",
];
const ofProtocols = [
  "grpc-timeout",
  "grpc-encoding",
  "grpc-accept-encoding",
  "grpc-message-type",
  "grpc-status",
  "grpc-message",
  "grpc-status-details-bin",
  "x-grpc-web",
  "connect-protocol-version",
  "connect-timeout-ms",
  "connect-content-encoding",
  "connect-accept-encoding",
];
const stoppedIn = new Set([...hopAndContent, ...ofProtocols, "expect", "accept-encoding", "host"]);
const stoppedOut = new Set([...hopAndContent, ...ofProtocols]);

/** Maps the name of a header field, in lower case, to the one under which it is passed on; undefined to drop it. */
export type HeaderMatcher = (name: string) => string | undefined;

/** The request header of a call, read field by field. */
export class CallHeader {
  readonly #request: HttpRequest;
  readonly #matcher: HeaderMatcher | undefined;

  constructor(request: HttpRequest, matcher: HeaderMatcher | undefined) {
    this.#request = request;
    this.#matcher = matcher;
  }

  get(name: string): string | null {
    if (this.#matcher !== undefined) return new Headers(this.all()).get(name);
    return isPassed(this.#request, name) ? (headerOf(this.#request, name) ?? null) : null;
  }

  all(): Record<string, string> {
    return callHeaders(this.#request, this.#matcher);
  }
}

/** The request headers of a call, under the names that a matcher gives them. */
export function callHeaders(request: HttpRequest, matcher: HeaderMatcher = sameName): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of Object.keys(request.headers)) {
    const value = headerOf(request, name);
    if (value === undefined || name.startsWith(":") || !isPassed(request, name)) continue;
    const passedAs = matcher(name);
    if (passedAs !== undefined) headers[passedAs.toLowerCase()] = value;
  }
  return headers;
}

function sameName(name: string): string {
  return name;
}

/** Whether a field is for the call: not of this hop, not of the content, and not listed in `Connection`. */
function isPassed(request: HttpRequest, name: string): boolean {
  if (stoppedIn.has(name)) return false;
  const connection = headerOf(request, "connection");
  return (
    connection === undefined ||
    connection === "keep-alive" ||
    !connection
      .toLowerCase()
      .split(",")
      .some((named) => named.trim() === name)
  );
}

/** HTTP headers from the headers and trailers of a call, after those of every response. */
export function responseHeaders(
  common: OutgoingHttpHeaders | undefined,
  header: Headers | undefined,
  trailer: Headers | undefined,
  matcher: HeaderMatcher = sameName,
): OutgoingHttpHeaders {
  const headers = { ...common } as Record<string, string | string[]>;
  const add = (value: string, given: string) => {
    const name = stoppedOut.has(given) ? undefined : matcher(given);
    if (name === undefined) return;
    const earlier = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (earlier === undefined) headers[name] = value;
    else headers[name] = name === "set-cookie" ? [earlier, value].flat() : `${earlier}, ${value}`;
  };
  header?.forEach(add);
  trailer?.forEach(add);
  return headers;
}
