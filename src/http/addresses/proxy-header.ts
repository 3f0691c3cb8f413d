/**
 * The header of the PROXY protocol, versions 1 and 2: a proxy sends it before anything else, and names its client.
 * https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt
 */
import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { canonicalAddress } from "./networks.ts";

/** What the first bytes of a connection say. */
export type Beginning<T> =
  | { readonly kind: "incomplete" }
  | { readonly kind: "malformed" }
  /** The value, and how many of the bytes are read. */
  | { readonly kind: "complete"; readonly value: T; readonly length: number };

const incomplete = { kind: "incomplete" } as const;
const malformed = { kind: "malformed" } as const;

const v2Signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const v2HeadBytes = 16;
/** The addresses and what may follow them: the specification recommends much less. */
const maxV2Bytes = 2048;
const maxV1Bytes = 107;
const v1Start = Buffer.from("PROXY ");

/** The address of a client; undefined for a connection of the proxy itself, such as a health check. */
export type ProxiedAddress = string | undefined;

/** Reads a header from the first bytes of a connection. */
export function readProxyHeader(bytes: Buffer): Beginning<ProxiedAddress> {
  if (begins(bytes, v2Signature)) return readV2(bytes);
  return begins(bytes, v1Start) ? readV1(bytes) : malformed;
}

/** Whether the bytes begin with others, as far as they have come. */
function begins(bytes: Buffer, others: Buffer): boolean {
  const length = Math.min(bytes.length, others.length);
  return bytes.compare(others, 0, length, 0, length) === 0;
}

function readV1(bytes: Buffer): Beginning<ProxiedAddress> {
  const end = bytes.subarray(0, maxV1Bytes).indexOf("\r\n");
  if (end < 0) return bytes.length < maxV1Bytes ? incomplete : malformed;
  const line = bytes.toString("latin1", 0, end);
  const length = end + 2;
  if (/^PROXY UNKNOWN(?: [ -~]*)?$/.test(line)) return { kind: "complete", value: undefined, length };
  const [, family, source = "", target = "", ...ports] =
    /^PROXY (TCP4|TCP6) ([\da-fA-F.:]+) ([\da-fA-F.:]+) (\d{1,5}) (\d{1,5})$/.exec(line) ?? [];
  const isAddress = family === "TCP4" ? isIPv4 : isIPv6;
  if (family === undefined || !isAddress(source) || !isAddress(target)) return malformed;
  if (ports.some((port) => Number(port) > 65_535)) return malformed;
  return { kind: "complete", value: canonicalAddress(source), length };
}

const commands = { local: 0x20, proxy: 0x21 };
/** By the byte of family and transport: the bytes of an address, and of all addresses and ports. */
const families = new Map([
  [0x11, { addressBytes: 4, allBytes: 12 }],
  [0x12, { addressBytes: 4, allBytes: 12 }],
  [0x21, { addressBytes: 16, allBytes: 36 }],
  [0x22, { addressBytes: 16, allBytes: 36 }],
]);
/** Unspecified, and sockets of Unix: they have no address of a client. */
const withoutAddress = new Set([0x00, 0x31, 0x32]);

function readV2(bytes: Buffer): Beginning<ProxiedAddress> {
  if (bytes.length < v2HeadBytes) return incomplete;
  const command = bytes[12];
  const familyByte = bytes[13]!;
  const contentBytes = bytes.readUInt16BE(14);
  if (command !== commands.local && command !== commands.proxy) return malformed;
  if (contentBytes > maxV2Bytes) return malformed;
  const length = v2HeadBytes + contentBytes;
  if (bytes.length < length) return incomplete;
  const family = families.get(familyByte);
  if (command === commands.local || withoutAddress.has(familyByte))
    return { kind: "complete", value: undefined, length };
  if (family === undefined || contentBytes < family.allBytes) return malformed;
  const address = bytes.subarray(v2HeadBytes, v2HeadBytes + family.addressBytes);
  return { kind: "complete", value: canonicalAddress(ipaddr.fromByteArray([...address]).toString()), length };
}
