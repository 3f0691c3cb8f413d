/** The header fields that every response of a port has, also one that no handler sees. Each form is made once. */
import { maxFieldBytes, writeField } from "./http2/hpack/hpack.ts";

type Field = readonly [name: string, value: string];

/** Browsers do not guess the type of content, by the Fetch standard. */
const noSniffing: Field = ["x-content-type-options", "nosniff"];
/** Browsers use TLS only, for a year, RFC 6797. */
const tlsOnly: Field = ["strict-transport-security", "max-age=31536000"];

/** The fields, in the forms in which they are sent. */
export interface FixedFields {
  readonly list: readonly Field[];
  /** Lines of an HTTP/1.1 head. */
  readonly lines: string;
  /** A part of an HPACK block. */
  readonly block: Buffer;
}

/** Makes them. `hsts`: whether they have `Strict-Transport-Security`, which is for TLS only. */
export function fixedFields(hsts: boolean): FixedFields {
  const list = hsts ? [noSniffing, tlsOnly] : [noSniffing];
  const block = Buffer.alloc(list.reduce((bytes, field) => bytes + maxFieldBytes(...field), 0));
  const end = list.reduce((at, field) => writeField(block, at, ...field), 0);
  const lines = list.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return { list, lines, block: block.subarray(0, end) };
}
