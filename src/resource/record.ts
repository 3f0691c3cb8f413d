/**
 * Between message and row. The row's body is the encoded message without what the row's own columns say (uid, times, etag); the columns are
 * put back on the way out.
 */
import { create, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type BinaryReader, type BinaryWriter, createBinaryReader, createBinaryWriter } from "../codec/index.ts";
import type { FacetValue, Row } from "../store/index.ts";
import type { Resource } from "./declaration.ts";

/** The message of a row, as stored: references are not hydrated. */
export function messageOf<R extends DescMessage>(resource: Resource<R, DescMessage>, row: Row): MessageShape<R> {
  const { schema, restore } = resource.declaration;
  const { read, hasCreateTime, hasUpdateTime, hasEtag } = formOf(schema);
  const message = read(row.body) as MessageShape<R>;
  const fields = message as Message & SpineFields;
  fields.uid = row.uid;
  if (hasCreateTime) fields.createTime = timestampOf(row.createTimeUs);
  if (hasUpdateTime) fields.updateTime = timestampOf(row.updateTimeUs);
  if (hasEtag) fields.etag = etagOf(row);
  restore?.(message, row);
  return message;
}

/** Body and facets of a message. */
export function contentOf<R extends DescMessage>(
  resource: Resource<R, DescMessage>,
  message: MessageShape<R>,
): { body: Uint8Array; facets: Record<string, FacetValue> } {
  const { schema, facets } = resource.declaration;
  const { write, hasCreateTime, hasUpdateTime, hasEtag } = formOf(schema);
  const stored = { ...message }; // its fields are set, never what is in them: no deep copy is needed
  const fields = stored as Message & SpineFields;
  fields.uid = "";
  if (hasCreateTime) fields.createTime = undefined;
  if (hasUpdateTime) fields.updateTime = undefined;
  if (hasEtag) fields.etag = "";
  return {
    body: write(stored),
    facets: Object.fromEntries(
      Object.entries(facets).map(([name, facet]) => [name, Object.values(facet)[0]!(message) as FacetValue]),
    ),
  };
}

/** The strong entity tag of a row (RFC 9110): it changes with every change of the row. */
export function etagOf(row: Row): string {
  return `"${row.createTimeUs}-${row.version}"`;
}

/** An empty message of a resource. */
export function emptyMessage<R extends DescMessage>(resource: Resource<R, DescMessage>): MessageShape<R> {
  return create(resource.declaration.schema);
}

interface SpineFields {
  uid: string;
  createTime?: Timestamp | undefined;
  updateTime?: Timestamp | undefined;
  etag: string;
}

/** How messages of a type are read and written, and which of the spine's columns they show. */
interface Form {
  readonly read: BinaryReader;
  readonly write: BinaryWriter;
  readonly hasCreateTime: boolean;
  readonly hasUpdateTime: boolean;
  readonly hasEtag: boolean;
}

const forms = new WeakMap<DescMessage, Form>();

function formOf(schema: DescMessage): Form {
  let form = forms.get(schema);
  if (form === undefined) {
    const has = (name: string) => schema.fields.some((field) => field.name === name);
    form = {
      read: createBinaryReader(schema),
      write: createBinaryWriter(schema),
      hasCreateTime: has("create_time"),
      hasUpdateTime: has("update_time"),
      hasEtag: has("etag"),
    };
    forms.set(schema, form);
  }
  return form;
}

/** `create` costs more than all else that is done for a field. */
function timestampOf(timeUs: number): Timestamp {
  const seconds = Math.floor(timeUs / 1e6);
  return {
    $typeName: "google.protobuf.Timestamp",
    seconds: BigInt(seconds),
    nanos: (timeUs - seconds * 1e6) * 1000,
  };
}
