/** What the header list of an HTTP/2 request says, if it is the plainest of requests: every field one that all servers read alike, and each once. */
import type { IncomingHttpHeaders } from "node:http";
import type { Arrival } from "../rest/index.ts";
import type { HeaderList } from "./hpack.ts";
import { isAuthority } from "./request-fields.ts";

/** A request without its content. */
export interface PlainFields extends Arrival {
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

/** Fields that make more of a request than its list and its content, that RFC 9113 section 8.2.2 forbids, or that Node has a list for. */
const notPlain = new Set([
  ...["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"],
  ...["expect", "trailer", "host", "set-cookie"],
]);

/** Undefined for what is not plain. */
export function plainFieldsOf({ fields, isTooLarge }: HeaderList): PlainFields | undefined {
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
    if (headers[name] !== undefined || notPlain.has(name) || !fieldName.test(name) || !fieldValue.test(value))
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
  const isPlain =
    methods.has(method) &&
    target.test(url) &&
    (scheme === "http" || scheme === "https") &&
    isAuthority(authority) &&
    Object.keys(others).length === 0 &&
    te === "trailers" &&
    /^\d{1,9}$/.test(length);
  return isPlain ? { method, url, headers } : undefined;
}
