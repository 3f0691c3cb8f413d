/** Headers between HTTP and the call: all but those of one hop (RFC 9110, section 7.6.1) and of the content. */

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
const stoppedIn = new Set([...hopAndContent, "expect", "accept-encoding"]);
const stoppedOut = new Set(hopAndContent);

/** The request header of a call, read field by field. */
export class CallHeader {
  readonly #request: HttpRequest;

  constructor(request: HttpRequest) {
    this.#request = request;
  }

  get(name: string): string | null {
    return isPassed(this.#request, name) ? (headerOf(this.#request, name) ?? null) : null;
  }

  all(): Record<string, string> {
    return callHeaders(this.#request);
  }
}

/** The request headers of a call. */
export function callHeaders(request: HttpRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of Object.keys(request.headers)) {
    const value = headerOf(request, name);
    if (value !== undefined && !name.startsWith(":") && isPassed(request, name)) headers[name] = value;
  }
  return headers;
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
  ...sources: (Headers | undefined)[]
): OutgoingHttpHeaders {
  const headers = { ...common } as Record<string, string | string[]>;
  for (const source of sources) {
    for (const [name, value] of source ?? []) {
      if (stoppedOut.has(name)) continue;
      const earlier = headers[name];
      if (earlier === undefined) headers[name] = value;
      else headers[name] = name === "set-cookie" ? [earlier, value].flat() : `${earlier}, ${value}`;
    }
  }
  return headers;
}
