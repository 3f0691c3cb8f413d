/**
 * Reads the plainest of HTTP/1.1 requests: whole in what was read, every byte of its head one that all parsers read alike. It refuses nothing:
 * what it does not know is for Node's parser, to serve or to refuse.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { WholeRequest } from "../rest/index.ts";
import { isAuthority } from "./request-fields.ts";

/** A plain request, and how many bytes it has. */
export interface PlainRequest extends WholeRequest {
  readonly length: number;
  startedMs?: number;
}

/** Reads the requests of one connection, one after the other. */
export interface PlainRequestReader {
  /** The request that `bytes` begin with; undefined if it is not plain or not whole. */
  read(bytes: Buffer): PlainRequest | undefined;
}

/** RFC 9112, section 3, with one space where one is due. */
const requestLine = /(?:GET|POST|PUT|PATCH|DELETE) \/[!-~]* HTTP\/1\.1\r\n/y;
/** Section 5, and the empty line: names of letters, digits and hyphens, values of printable ASCII. */
const fieldLines = /(?:[A-Za-z\d-]+:[ -~]*\r\n)+\r\n/y;

/** Fields that make more of a request than its head and a body of known length, and the one that Node has a list for. */
const notPlain = ["transfer-encoding", "upgrade", "expect", "trailer", "set-cookie"];

const maxFields = 64;

/** Longer heads are not plain: of its last request a connection keeps as much. */
const maxHeadBytes = 4096;

/** Of more than this the head alone is made text: whoever keeps a field or a part of the path, keeps all of that text. */
const smallBytes = 1024;
const emptyLine = "\r\n\r\n";

/** Fields as they came, and what they say. */
interface Fields {
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  readonly bodyLength: number;
}

/** Creates a reader. It remembers the fields of the last request: clients tend to send the same again. A head of `maxBytes` is not plain. */
export function createPlainRequestReader(maxBytes: number): PlainRequestReader {
  const maxTextBytes = Math.min(maxBytes, maxHeadBytes);
  let last: Fields | undefined;
  return {
    read(bytes) {
      const textBytes = bytes.length > smallBytes ? bytes.indexOf(emptyLine) + emptyLine.length : bytes.length;
      if (textBytes > maxTextBytes) return undefined;
      const text = bytes.toString("latin1", 0, textBytes);
      const lineEnd = endOf(requestLine, text, 0);
      if (lineEnd === undefined) return undefined;
      if (last === undefined || !text.startsWith(last.text, lineEnd)) last = readFields(text, lineEnd);
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
        wholeBody: bytes.subarray(headLength, length),
        length,
      };
    },
  };
}

function endOf(pattern: RegExp, text: string, from: number): number | undefined {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Undefined for too many fields, for two of one name, as what these mean depends on the name, and for any that is not plain. */
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
  const isPlain =
    host !== undefined &&
    isAuthority(host) &&
    connection.toLowerCase() === "keep-alive" &&
    /^\d{1,9}$/.test(bodyLength) &&
    notPlain.every((name) => headers[name] === undefined);
  return isPlain ? { text: text.slice(from, end), headers, bodyLength: Number(bodyLength) } : undefined;
}
