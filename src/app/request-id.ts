/** The id of a request, and the header fields of every response. */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { randomUuid } from "../new-uid.ts";

/** Every response names its request, and may not be cached unless it says otherwise. */
export function answerHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return { "x-request-id": identify(headers), "cache-control": "no-store" };
}

/** The id of a request: the client's, or a new one, which is added to `headers`. */
export function identify(headers: IncomingHttpHeaders): string {
  const given = headers["x-request-id"];
  const id = typeof given === "string" && /^[\w.:-]{1,128}$/.test(given) ? given : randomUuid();
  headers["x-request-id"] = id;
  return id;
}
