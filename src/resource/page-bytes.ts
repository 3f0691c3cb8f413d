/**
 * How much a page holds in bytes: gRPC clients refuse messages over 4 MiB unless told otherwise, so a page ends early (AIP-158) before it comes to
 * that. Bytes are those of the binary encoding, whatever the protocol: a page is the same over all of them.
 */
import type { DescMessage, Message } from "@bufbuild/protobuf";
import { PackedRow, type Row } from "../store/index.ts";
import { messageBytes } from "./record.ts";

/** A page is not larger than this, unless its first item alone is. */
export const maxPageBytes = 3.5 * 1024 * 1024;
/** What a response says beside its items: a page token carries up to 2 KiB of query and the keys of a row. */
const envelopeBytes = 16 * 1024;
/** Tag and length of an item; its uid's, both times and the etag, which are not in a row's body. */
const overheadBytes = 80;

/** How many of the items, from the first on, make a page: all that it has room for, one at least. */
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

/** The size of a row's message as it is stored, less the {@link overheadBytes}. */
export function rowBytes(row: Row): number {
  return row instanceof PackedRow ? row.end - row.uidStart : row.uid.length + row.body.length;
}
