/**
 * Reads the header lists of simple HTTP/2 requests: every field is one that all servers read alike, and none is
 * repeated.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { Arrival } from "../../message/index.ts";
import { isAuthority } from "../request-fields.ts";
import type { HeaderList } from "./hpack/hpack.ts";

/** A request without its content. */
export interface RequestHead extends Arrival {
  readonly method: string;
  /** `:path` */
  readonly url: string;
  /** Without pseudo-header fields. */
  readonly headers: IncomingHttpHeaders;
}

const methods = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);
const target = /^\/[!-~]*$/;
const fieldName = /^[a-z\d_.-]+$/;
const fieldValue = /^(?:[!-~](?:[ -~]*[!-~])?)?$/;

/**
 * Fields that need more than a header list and content, that RFC 9113 section 8.2.2 forbids, or for which Node returns
 * a list.
 */
const unsupported = new Set([
  ...["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"],
  ...["expect", "trailer", "host", "set-cookie"],
]);

/** The head of a simple request; undefined for any other. */
export function readSimpleHead({ fields, isTooLarge }: HeaderList): RequestHead | undefined {
  if (isTooLarge) return undefined;
  const pseudo: Record<string, string> = {};
  const headers: Record<string, string> = {};
  let at = 0;
  for (; at < fields.length && fields[at]!.startsWith(":"); at += 2) {
    if (pseudo[fields[at]!] !== undefined) return undefined;
    pseudo[fields[at]!] = fields[at + 1]!;
  }
  for (; at < fields.length; at += 2) {
    const name = fields[at]!;
    const value = fields[at + 1]!;
    if (headers[name] !== undefined || unsupported.has(name) || !fieldName.test(name) || !fieldValue.test(value))
      return undefined;
    headers[name] = value;
  }
  const {
    ":method": method = "",
    ":path": url = "",
    ":scheme": scheme,
    ":authority": authority = "",
    ...others
  } = pseudo;
  const { te = "trailers", "content-length": length = "0" } = headers;
  const isSimple =
    methods.has(method) &&
    target.test(url) &&
    (scheme === "http" || scheme === "https") &&
    isAuthority(authority) &&
    Object.keys(others).length === 0 &&
    te === "trailers" &&
    /^\d{1,9}$/.test(length);
  return isSimple ? { method, url, headers } : undefined;
}
