/**
 * Parses simple HTTP/1.1 requests. A request is simple if all of it has been received and its head is in a strict
 * subset of the grammar that all parsers read alike. This parser refuses nothing: Node's parser serves or refuses
 * everything else.
 */

import type { IncomingHttpHeaders } from "node:http";
import type { BufferedRequest } from "../../message/index.ts";
import { emptyBuffer } from "../http2/frames.ts";
import { isAuthority } from "../request-fields.ts";

/** A simple request. */
export interface SimpleRequest extends BufferedRequest {
  /** Its length in bytes, head included. */
  readonly length: number;
  /** Whether the client asks for the connection to be closed after the response. */
  readonly isLast: boolean;
  startedMs?: number;
}

/** Reads the requests of one connection, one after the other. */
export interface SimpleRequestReader {
  /** The request at the beginning of `bytes`; undefined if it is not simple or not complete. */
  read(bytes: Buffer): SimpleRequest | undefined;
}

/** RFC 9112, section 3, with single spaces. */
const requestLine = /(?:GET|POST|PUT|PATCH|DELETE) \/[!-~]* HTTP\/1\.1\r\n/y;
/** Section 5, and the empty line: names of letters, digits and hyphens, values of printable ASCII. */
const fieldLines = /(?:[A-Za-z\d-]+:[ -~]*\r\n)+\r\n/y;

/** Fields that need more than a head and a body of known length, and the one for which Node returns a list. */
const unsupported = ["transfer-encoding", "upgrade", "expect", "trailer", "set-cookie"];

const maxFields = 64;

/** Longer heads are not simple: a connection keeps the head of its last request. */
const maxHeadBytes = 4096;

/**
 * Of more bytes only the head is converted to text: a field or a part of the path that is kept alive keeps all of that
 * text alive.
 */
const smallBytes = 1024;
const emptyLine = "\r\n\r\n";

/** Header fields as they were received, and parsed. */
interface Fields {
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  readonly bodyLength: number;
  readonly isLast: boolean;
}

/**
 * Creates a reader. It caches the fields of the last request, since clients often repeat them. A head of more than
 * `maxBytes` is not simple.
 */
export function createSimpleRequestReader(maxBytes: number): SimpleRequestReader {
  const maxTextBytes = Math.min(maxBytes, maxHeadBytes);
  let last: Fields | undefined;
  return {
    read(bytes) {
      const textBytes = bytes.length > smallBytes ? bytes.indexOf(emptyLine) + emptyLine.length : bytes.length;
      if (textBytes > maxTextBytes) return undefined;
      const text = bytes.toString("latin1", 0, textBytes);
      const lineEnd = endOf(requestLine, text, 0);
      if (lineEnd === undefined) return undefined;
      // `startsWith` compares byte by byte, and takes four times as long.
      if (last === undefined || text.slice(lineEnd, lineEnd + last.text.length) !== last.text)
        last = readFields(text, lineEnd);
      if (last === undefined) return undefined;
      const headLength = lineEnd + last.text.length;
      const length = headLength + last.bodyLength;
      if (length > bytes.length) return undefined;
      const methodEnd = text.indexOf(" ");
      return {
        method: text.slice(0, methodEnd),
        url: text.slice(methodEnd + 1, lineEnd - " HTTP/1.1\r\n".length),
        httpVersionMajor: 1,
        headers: { ...last.headers },
        complete: true,
        bufferedBody: length === headLength ? emptyBuffer : bytes.subarray(headLength, length),
        length,
        isLast: last.isLast,
      };
    },
  };
}

function endOf(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/**
 * Undefined if there are too many fields, two of one name, since their meaning depends on the name, or one that is not
 * simple.
 */
function readFields(text: string, from: number): Fields | undefined {
  const end = endOf(fieldLines, text, from);
  if (end === undefined) return undefined;
  const headers: Record<string, string> = {};
  let count = 0;
  for (let at = from; at < end - 2; ) {
    const colon = text.indexOf(":", at);
    const lineEnd = text.indexOf("\r\n", colon);
    const name = text.slice(at, colon).toLowerCase();
    if (headers[name] !== undefined || ++count > maxFields) return undefined;
    headers[name] = text.slice(colon + 1, lineEnd).trim();
    at = lineEnd + 2;
  }
  const { host, connection = "keep-alive", "content-length": bodyLength = "0" } = headers;
  const persistence = connection.toLowerCase();
  const isSimple =
    host !== undefined &&
    isAuthority(host) &&
    (persistence === "keep-alive" || persistence === "close") &&
    /^\d{1,9}$/.test(bodyLength) &&
    unsupported.every((name) => headers[name] === undefined);
  return isSimple
    ? { text: text.slice(from, end), headers, bodyLength: Number(bodyLength), isLast: persistence === "close" }
    : undefined;
}
