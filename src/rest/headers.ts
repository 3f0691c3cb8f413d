/** Headers that pass between HTTP and the call: all but those of one hop (RFC 9110, section 7.6.1) and of the content. */
import type { OutgoingHttpHeaders } from "node:http";
import { type HttpRequest, headerOf } from "./http.ts";

const HOP_AND_CONTENT = [
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
const STOPPED_IN = new Set([...HOP_AND_CONTENT, "expect", "accept-encoding"]);
const STOPPED_OUT = new Set(HOP_AND_CONTENT);

/** The request headers of a call. */
export function callHeaders(request: HttpRequest): Record<string, string> {
  const connection = headerOf(request, "connection");
  const named =
    connection === undefined
      ? []
      : connection
          .toLowerCase()
          .split(",")
          .map((name) => name.trim());
  const headers: Record<string, string> = {};
  for (const name of Object.keys(request.headers)) {
    const value = headerOf(request, name);
    if (value !== undefined && !name.startsWith(":") && !STOPPED_IN.has(name) && !named.includes(name)) {
      headers[name] = value;
    }
  }
  return headers;
}

/** HTTP headers from the headers and trailers of a call. */
export function responseHeaders(...sources: Headers[]): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {};
  for (const source of sources) {
    for (const [name, value] of source) {
      if (STOPPED_OUT.has(name)) {
        continue;
      }
      const earlier = headers[name];
      if (earlier === undefined) {
        headers[name] = value;
      } else {
        headers[name] = name === "set-cookie" ? [earlier, value].flat() : `${earlier}, ${value}`;
      }
    }
  }
  return headers;
}
