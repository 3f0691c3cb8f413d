/** Conditional requests, RFC 9110 section 13, as far as they are for reading: `If-None-Match`. (`If-Match` is for the call.) */
import type { OutgoingHttpHeaders } from "node:http";
import { type HttpRequest, headerOf } from "./http.ts";

const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether the client of a GET or HEAD has what it would be answered: one of its entity tags, compared weakly, is that of the answer, or `*`. */
export function isNotModified(request: HttpRequest, answerHeaders: OutgoingHttpHeaders): boolean {
  const given = headerOf(request, "if-none-match");
  if (given === undefined || (request.method !== "GET" && request.method !== "HEAD")) {
    return false;
  }
  if (given.trim() === "*") {
    return true;
  }
  const current = String(answerHeaders.etag ?? "").replace(/^W\//, "");
  return [...given.matchAll(entityTag)].some(([, tag]) => tag === current);
}
