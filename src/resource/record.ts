/**
 * Between message and row. The row's body is the encoded message without what the row's own columns say (uid, times, etag); the columns are
 * put back on the way out.
 */
import { create, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  type ApartFields,
  asciiOf,
  type BinaryReader,
  type BinaryWriter,
  createBinaryReader,
  createBinaryWriter,
  type EncodedListMaker,
  type EncodedType,
  encodedListMaker,
  encodedMessageMaker,
  type JsonBytes,
  type Local,
  type Place,
} from "../codec/index.ts";
import { type FacetValue, PackedRow, type Row } from "../store/index.ts";
import type { Resource } from "./declaration.ts";

/** What a row's own columns say of a message. */
const spineFields: ApartFields<Row> = {
  uid: { text: (row) => row.uid, json: writeUid },
  createTime: { timeUs: (row) => row.createTimeUs },
  updateTime: { timeUs: (row) => row.updateTimeUs },
  etag: { text: etagOf, json: writeEtag },
};

/** A uid has nothing to escape. */
function writeUid(out: JsonBytes, row: Row): void {
  if (row instanceof PackedRow) out.asciiOf(row.view, row.uidStart, row.start);
  else out.text(row.uid);
}

/** The message of a row, as stored: references are not hydrated. */
export function messageOf<R extends DescMessage>(resource: Resource<R, DescMessage>, row: Row): MessageShape<R> {
  const { schema, restore } = resource.declaration;
  const { read, spine } = formOf(schema);
  const message = read(row.body) as MessageShape<R>;
  const fields = message as unknown as Local;
  for (const [name, field] of spine) {
    fields[name] = "text" in field ? field.text(row) : timestampOf(field.timeUs(row));
  }
  restore?.(message, row);
  return message;
}

/** The message of a row as it is stored, for doors; for resources whose messages nothing completes. */
export function storedMessage(resource: Resource, row: Row): Message {
  const { schema } = resource.declaration;
  let make = messageMakers.get(schema);
  if (make === undefined) {
    make = encodedMessageMaker(schema, encodedType(resource));
    messageMakers.set(schema, make);
  }
  return make(row);
}

/** A list response with such messages. */
export function storedList(resource: Resource, schema: DescMessage, rows: readonly Row[]): Message {
  let make = listMakers.get(schema);
  if (make === undefined) {
    make = encodedListMaker(schema, encodedType(resource));
    listMakers.set(schema, make);
  }
  return make(rows);
}

const messageMakers = new WeakMap<DescMessage, (row: Row) => Message>();
const listMakers = new WeakMap<DescMessage, EncodedListMaker<Row>>();

function encodedType(resource: Resource): EncodedType<Row> {
  const { spine } = formOf(resource.declaration.schema);
  return { place: placeOf, apart: Object.fromEntries(spine), message: (row) => messageOf(resource, row) };
}

function placeOf(row: Row): Place {
  if (row instanceof PackedRow) return row;
  const { buffer, byteOffset, byteLength } = row.body as Uint8Array<ArrayBuffer>;
  return { view: new DataView(buffer, byteOffset, byteLength), start: 0, end: byteLength };
}

/** Body and facets of a message. */
export function contentOf<R extends DescMessage>(
  resource: Resource<R, DescMessage>,
  message: MessageShape<R>,
): { body: Uint8Array; facets: Record<string, FacetValue> } {
  const { schema, facets } = resource.declaration;
  const { write, spine } = formOf(schema);
  const stored = { ...message }; // its fields are set, never what is in them: no deep copy is needed
  for (const [name, field] of spine) (stored as unknown as Local)[name] = "text" in field ? "" : undefined;
  return {
    body: write(stored),
    facets: Object.fromEntries(
      Object.entries(facets).map(([name, facet]) => [name, Object.values(facet)[0]!(message) as FacetValue]),
    ),
  };
}

/** The size of a message in its binary encoding. */
export function messageBytes(schema: DescMessage, message: Message): number {
  return formOf(schema).write(message).length;
}

/** A message with the same content: through the wire format, because our codecs are faster than what walks by descriptors. */
export function copyOf<R extends DescMessage>(
  { declaration }: Resource<R, DescMessage>,
  message: MessageShape<R>,
): MessageShape<R> {
  const { read, write } = formOf(declaration.schema);
  return read(write(message)) as MessageShape<R>;
}

/** The strong entity tag of a row (RFC 9110): it changes with every change of the row. */
export function etagOf(row: Row): string {
  return `"${row.createTimeUs}-${row.version}"`;
}

const escapedQuote = asciiOf('\\"');
const dash = asciiOf("-");

/** The same as JSON. */
function writeEtag(out: JsonBytes, { createTimeUs, version }: Row): void {
  out.ascii(escapedQuote);
  out.integer(createTimeUs);
  out.ascii(dash);
  out.integer(version);
  out.ascii(escapedQuote);
}

/** An empty message of a resource. */
export function emptyMessage<R extends DescMessage>(resource: Resource<R, DescMessage>): MessageShape<R> {
  return create(resource.declaration.schema);
}

/** How messages of a type are read and written, and which of them the spine's columns are. */
interface Form {
  readonly read: BinaryReader;
  readonly write: BinaryWriter;
  readonly spine: readonly [name: string, ApartFields<Row>[string]][];
}

const forms = new WeakMap<DescMessage, Form>();

function formOf(schema: DescMessage): Form {
  let form = forms.get(schema);
  if (form === undefined) {
    form = {
      read: createBinaryReader(schema),
      write: createBinaryWriter(schema),
      spine: Object.entries(spineFields).filter(([name]) => schema.field[name] !== undefined),
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
