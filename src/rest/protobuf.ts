/** Bodies in the wire format of protobuf, by the option `protobufBodies`. */
import type { Message } from "@bufbuild/protobuf";
import {
  type BinaryReader,
  createBinaryReader,
  createBinaryWriter,
  getField,
  localForm,
  localOf,
  maxRequestFields,
  type StoredMessage,
  setField,
  WireFormatError,
  wholeMessage,
} from "../codec/index.ts";
import { invalidArgument } from "../message/index.ts";
import type { Binding } from "./binding.ts";

/** The media types of the wire format, the preferred first. */
export const protobufTypes = ["application/x-protobuf", "application/protobuf"] as const;

/** Whether a body of this content type is in the wire format. */
export function isProtobuf(contentType: string): boolean {
  const type = contentType.split(";")[0]?.trim().toLowerCase();
  return protobufTypes.some((known) => known === type);
}

/** Puts a body into a message, or returns the one that replaces it. Errors: INVALID_ARGUMENT. */
type ProtobufReader = (message: Message, bytes: Uint8Array) => Message;

/** The reader for the bodies of a binding; undefined if they are not messages. */
export function createProtobufReader({ method, body }: Binding): ProtobufReader | undefined {
  if (body === "*") {
    const read = createBinaryReader(method.input, maxRequestFields);
    return (_, bytes) => readWellFormed(read, bytes);
  }
  if (body?.fieldKind !== "message") return undefined;
  const read = createBinaryReader(body.message, maxRequestFields);
  const form = localForm(body);
  return (message, bytes) => {
    const value = localOf(readWellFormed(read, bytes));
    setField(message, body, form === undefined ? value : form.toLocal(value));
    return message;
  };
}

function readWellFormed(read: BinaryReader, bytes: Uint8Array): Message {
  try {
    return read(bytes);
  } catch (error) {
    if (error instanceof WireFormatError)
      throw invalidArgument([{ field: "", description: `malformed protobuf message: ${error.message}` }]);
    throw error;
  }
}

/** Returns the body for a response message. */
type ProtobufWriter = (message: Message | StoredMessage) => Uint8Array;

/** The writer for the responses of a binding; undefined if they are not messages. A field that is unset is empty. */
export function createProtobufWriter({ method, responseBody: field }: Binding): ProtobufWriter | undefined {
  if (field === undefined) return createBinaryWriter(method.output);
  if (field.fieldKind !== "message") return undefined;
  const write = createBinaryWriter(field.message);
  const form = localForm(field);
  return (message) => {
    const value = getField(wholeMessage(message), field);
    if (value === undefined) return new Uint8Array();
    return write((form === undefined ? value : form.toMessage(value)) as Message);
  };
}
