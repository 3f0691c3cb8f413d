/**
 * Mapping between messages and rows. The body of a row is the encoded message without the fields that are base columns
 * of the row: uid, times and etag. These are set again when a message is read.
 */
import { create, type DescMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import {
  asciiOf,
  type BinaryReader,
  type BinaryWriter,
  type ByteRange,
  createBinaryReader,
  createBinaryWriter,
  type JsonBytes,
  localOf,
  type StoredListMaker,
  type StoredMessage,
  type StoredMessageMaker,
  type StoredType,
  type SuppliedFields,
  storedListMaker,
  storedMessageMaker,
} from "../codec/index.ts";
import { type ColumnValue, PackedRow, type Row } from "../store/index.ts";
import type { Resource } from "./declaration.ts";

/** The fields that come from the base columns of a row. */
const baseFields: SuppliedFields<Row> = {
  uid: { text: (row) => row.uid, json: writeUid },
  createTime: { timeUs: (row) => row.createTimeUs },
  updateTime: { timeUs: (row) => row.updateTimeUs },
  etag: { text: etagOf, json: writeEtag },
};

/** A uid has no character to escape. */
function writeUid(out: JsonBytes, row: Row): void {
  if (row instanceof PackedRow) out.asciiOf(row.view, row.uidStart, row.start);
  else out.text(row.uid);
}

/** The message of a row as stored, not hydrated. */
export function messageOf<R extends DescMessage>(resource: Resource<R, DescMessage>, row: Row): MessageShape<R> {
  const { schema, restore } = resource.declaration;
  const { read, base } = formOf(schema);
  const message = read(row.body) as MessageShape<R>;
  const fields = localOf(message);
  for (const [name, field] of base) {
    fields[name] = "text" in field ? field.text(row) : timestampOf(field.timeUs(row));
  }
  restore?.(message, row);
  return message;
}

/** The message of a row as it is stored, for resources whose messages nothing completes. */
export function storedMessage(resource: Resource, row: Row): StoredMessage {
  const { schema } = resource.declaration;
  let make = messageMakers.get(schema);
  if (make === undefined) {
    make = storedMessageMaker(schema, storedType(resource));
    messageMakers.set(schema, make);
  }
  return make(row);
}

/** A list response with messages as they are stored. */
export function storedList(resource: Resource, schema: DescMessage, rows: readonly Row[]): Message {
  let make = listMakers.get(schema);
  if (make === undefined) {
    make = storedListMaker(schema, storedType(resource));
    listMakers.set(schema, make);
  }
  return make(rows);
}

const messageMakers = new WeakMap<DescMessage, StoredMessageMaker<Row>>();
const listMakers = new WeakMap<DescMessage, StoredListMaker<Row>>();

function storedType(resource: Resource): StoredType<Row> {
  const { base } = formOf(resource.declaration.schema);
  return { bytes: bodyBytes, supplied: Object.fromEntries(base), message: (row) => messageOf(resource, row) };
}

function bodyBytes(row: Row): ByteRange {
  if (row instanceof PackedRow) return row;
  const { buffer, byteOffset, byteLength } = row.body as Uint8Array<ArrayBuffer>;
  return { view: new DataView(buffer, byteOffset, byteLength), start: 0, end: byteLength };
}

/** The columns of a row that are derived from its message. */
export interface Content {
  readonly body: Uint8Array;
  readonly columns: Record<string, ColumnValue>;
}

/** The body and the indexed columns of a message. */
export function contentOf<R extends DescMessage>(
  resource: Resource<R, DescMessage>,
  message: MessageShape<R>,
): Content {
  const { schema, columns } = resource.declaration;
  const { write, base } = formOf(schema);
  const stored = { ...message }; // only fields of the copy are set, nothing inside them
  for (const [name, field] of base) localOf(stored)[name] = "text" in field ? "" : undefined;
  return {
    body: write(stored),
    columns: Object.fromEntries(
      Object.entries(columns).map(([name, column]) => [name, Object.values(column)[0]!(message) as ColumnValue]),
    ),
  };
}

/** The row of something that is created now. */
export function newRow(uid: string, parent: string, nowMs: number, content: Content): Omit<Row, "version"> {
  const nowUs = nowMs * 1000;
  return { uid, parent, createTimeUs: nowUs, updateTimeUs: nowUs, ...content };
}

/** The size of a message in its binary encoding. */
export function messageBytes(schema: DescMessage, message: Message): number {
  return formOf(schema).write(message).length;
}

/** A copy of a message, made by the codecs, which are faster than a copy by descriptors. */
export function copyOf<R extends DescMessage>(
  { declaration }: Resource<R, DescMessage>,
  message: MessageShape<R>,
): MessageShape<R> {
  const { read, write } = formOf(declaration.schema);
  return read(write(message)) as MessageShape<R>;
}

/** The strong entity tag of a row (RFC 9110). It changes with every change of the row. */
export function etagOf(row: Row): string {
  return `"${row.createTimeUs}-${row.version}"`;
}

/**
 * The entity tag of a message that does not only depend on its row. `variant`, a word, says what else it depends on. As
 * a condition of a change it is that of the row: nothing that somebody wrote is lost.
 */
export function variantOfEtag(etag: string, variant: string): string {
  return `${etag.slice(0, -1)}-${variant}"`;
}

/** The entity tag of the row of a message with this one. */
export function rowEtag(etag: string): string {
  return etag.replace(/-[a-z]+"$/, '"');
}

const escapedQuote = asciiOf('\\"');
const dash = asciiOf("-");

/** The etag in JSON. */
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

/** The codec of a message type, and its fields that come from base columns. */
interface Form {
  readonly read: BinaryReader;
  readonly write: BinaryWriter;
  readonly base: readonly [name: string, SuppliedFields<Row>[string]][];
}

const forms = new WeakMap<DescMessage, Form>();

function formOf(schema: DescMessage): Form {
  let form = forms.get(schema);
  if (form === undefined) {
    form = {
      read: createBinaryReader(schema),
      write: createBinaryWriter(schema),
      base: Object.entries(baseFields).filter(([name]) => schema.field[name] !== undefined),
    };
    forms.set(schema, form);
  }
  return form;
}

/** Without `create`, which costs more than everything else for a field. */
function timestampOf(timeUs: number): Timestamp {
  const seconds = Math.floor(timeUs / 1e6);
  return {
    $typeName: "google.protobuf.Timestamp",
    seconds: BigInt(seconds),
    nanos: (timeUs - seconds * 1e6) * 1000,
  };
}
