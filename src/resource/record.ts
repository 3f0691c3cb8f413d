/**
 * Between message and row. The row's body is the encoded message without what the row's own columns say (uid, times, etag); the columns are
 * put back on the way out.
 */
import { create, type DescMessage, fromBinary, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { FacetValue, Row } from "../store/index.ts";
import type { Resource } from "./declaration.ts";

/** The message of a row, as stored: references are not hydrated. */
export function messageOf<R extends DescMessage>(resource: Resource<R, DescMessage>, row: Row): MessageShape<R> {
  const { schema } = resource.declaration;
  const message = fromBinary(schema, row.body);
  const fields = message as Message & SpineFields;
  fields.uid = row.uid;
  if (hasField(schema, "create_time")) fields.createTime = timestampFromMs(row.createTimeUs / 1000);
  if (hasField(schema, "update_time")) fields.updateTime = timestampFromMs(row.updateTimeUs / 1000);
  if (hasField(schema, "etag")) fields.etag = etagOf(row);
  resource.declaration.restore?.(message, row);
  return message;
}

/** Body and facets of a message. */
export function contentOf<R extends DescMessage>(
  resource: Resource<R, DescMessage>,
  message: MessageShape<R>,
): { body: Uint8Array; facets: Record<string, FacetValue> } {
  const { schema, facets } = resource.declaration;
  const stored = { ...message }; // its fields are set, never what is in them: no deep copy is needed
  const fields = stored as Message & SpineFields;
  fields.uid = "";
  if (hasField(schema, "create_time")) fields.createTime = undefined;
  if (hasField(schema, "update_time")) fields.updateTime = undefined;
  if (hasField(schema, "etag")) fields.etag = "";
  return {
    body: toBinary(schema, stored),
    facets: Object.fromEntries(
      Object.entries(facets).map(([name, facet]) => [name, Object.values(facet)[0]!(message) as FacetValue]),
    ),
  };
}

/** The strong entity tag of a row (RFC 9110): it changes with every change of the row. */
export function etagOf(row: Row): string {
  return `"${row.createTimeUs.toString(36)}-${row.version}"`;
}

/** An empty message of a resource. */
export function emptyMessage<R extends DescMessage>(resource: Resource<R, DescMessage>): MessageShape<R> {
  return create(resource.declaration.schema);
}

interface SpineFields {
  uid: string;
  createTime?: ReturnType<typeof timestampFromMs> | undefined;
  updateTime?: ReturnType<typeof timestampFromMs> | undefined;
  etag: string;
}

function hasField(schema: DescMessage, name: string): boolean {
  return schema.fields.some((field) => field.name === name);
}
