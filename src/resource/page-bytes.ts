/**
 * The size of pages. By default gRPC clients refuse messages over 4 MiB, so a page ends early (AIP-158) before it
 * reaches that. The size is that of the binary encoding for every protocol, so that pages do not depend on the
 * protocol.
 */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { PackedRow, type Row } from "../store/index.ts";
import { messageBytes } from "./row-mapping.ts";

/** The maximum size of a page, unless its first item alone is larger. */
export const maxPageBytes = 3.5 * 1024 * 1024;
/** What a response holds besides its items: a page token has up to 2 KiB of query and the keys of a row. */
const envelopeBytes = 16 * 1024;
/** Tag and length of an item, its uid, both times and the etag, which are not in the body of a row. */
const overheadBytes = 80;

/** How many of the items, from the first on, fit into a page; at least one. */
export function pageLength<T>(items: readonly T[], bytesOf: (item: T) => number): number {
  let left = maxPageBytes - envelopeBytes;
  for (let i = 0; i < items.length; i++) {
    left -= bytesOf(items[i]!) + overheadBytes;
    if (left < 0) return Math.max(i, 1);
  }
  return items.length;
}

/** {@link pageLength} of messages of one type. */
export function messagePageLength(schema: DescMessage, messages: readonly Message[]): number {
  return pageLength(messages, (message) => messageBytes(schema, message));
}

/** The size of the message of a row as it is stored, without the {@link overheadBytes}. */
export function rowBytes(row: Row): number {
  return row instanceof PackedRow ? row.end - row.uidStart : row.uid.length + row.body.length;
}
