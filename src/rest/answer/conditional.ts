/** Conditional reads (RFC 9110, section 13): `If-None-Match`. Handlers check `If-Match`. */

import type { OutgoingHttpHeaders } from "node:http";
import { type HttpRequest, headerOf } from "../../message/index.ts";

const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/**
 * Whether the client of a GET or HEAD has the current response: one of its entity tags, by weak comparison, is that of
 * the response, or `*`.
 */
export function isNotModified(request: HttpRequest, answerHeaders: OutgoingHttpHeaders): boolean {
  const given = headerOf(request, "if-none-match");
  if (given === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false;
  if (given.trim() === "*") return true;
  const current = String(answerHeaders.etag ?? "").replace(/^W\//, "");
  return [...given.matchAll(entityTag)].some(([, tag]) => tag === current);
}
