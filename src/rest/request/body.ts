/** The bodies of requests: JSON, protobuf or, for google.api.HttpBody, raw. */
import { create, type DescField, type DescMessage, type Message, type Registry } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  createJsonFieldReader,
  createJsonReader,
  fieldPathsOf,
  hasCustomJson,
  type JsonNode,
  JsonSyntaxError,
  newMessage,
  parseJson,
  setField,
  type Violations,
} from "../../codec/index.ts";
import { type BodyKind, invalidArgument, Refusal } from "../../message/index.ts";
import type { Binding } from "../binding.ts";
import { createProtobufReader, isProtobuf, protobufTypes } from "../protobuf.ts";

/** Options of a body reader. */
export interface BodyOptions {
  readonly registry: Registry;
  /** Skip unknown keys of JSON instead of refusing them. */
  readonly ignoreUnknownFields?: boolean | undefined;
  /** Media types that are read as JSON besides the usual ones. */
  readonly jsonTypes?: readonly string[] | undefined;
  /** Take bodies in the wire format of protobuf, too. */
  readonly protobufBodies?: boolean | undefined;
  /** Take `{}` where the rule has no body. */
  readonly acceptEmptyObject?: boolean | undefined;
}

/** The decompressed body. */
export interface RequestBody {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** Reads the bodies of one binding. */
export interface BodyReader {
  readonly kind: BodyKind;
  /** Media types that are taken besides those of JSON. */
  readonly moreTypes?: readonly string[] | undefined;
  /** The kind of a body of this content type; absent if it is always `kind`. Errors: 415. */
  readonly kindOf?: ((contentType: string) => BodyKind) | undefined;
  /** Puts the body into the message, or returns one that replaces it; and the paths of the fields in JSON. */
  read(message: Message, body: RequestBody, violations: Violations): { replaced?: Message; paths?: string[] };
}

/** The reader for the bodies of a binding. Errors of its `read`: INVALID_ARGUMENT. */
export function createBodyReader(binding: Binding, options: BodyOptions): BodyReader {
  const reader = createPlainReader(binding, options);
  if (reader.kind !== "json") return reader;
  const json = { ...reader, moreTypes: options.jsonTypes };
  return options.protobufBodies === true && binding.body !== undefined ? withProtobuf(json, binding) : json;
}

/** Adds the wire format to JSON. A body that is not a message is refused in it. */
function withProtobuf(json: BodyReader, binding: Binding): BodyReader {
  const { kind, moreTypes = [] } = json;
  const readProtobuf = createProtobufReader(binding);
  if (readProtobuf === undefined) {
    const name = (binding.body as DescField).name;
    const accept = ["application/json", ...moreTypes].join(", ");
    const message = `Invalid argument: the body, ${name}, is not a message: it must be JSON`;
    return {
      ...json,
      kindOf(contentType) {
        if (isProtobuf(contentType)) throw new Refusal(415, Code.InvalidArgument, message, { accept });
        return kind;
      },
    };
  }
  return {
    kind,
    moreTypes: [...moreTypes, ...protobufTypes],
    kindOf: (contentType) => (isProtobuf(contentType) ? "raw" : kind),
    read(message, body, violations) {
      if (!isProtobuf(body.contentType)) return json.read(message, body, violations);
      return { replaced: readProtobuf(message, body.bytes) };
    },
  };
}

function createPlainReader(binding: Binding, options: BodyOptions): BodyReader {
  const { body } = binding;
  if (body === undefined)
    return options.acceptEmptyObject === true ? emptyObjectReader : { kind: "none", read: () => ({ paths: [] }) };
  if (body === "*") {
    const { input } = binding.method;
    if (isHttpBody(input)) return { kind: "raw", read: (_, raw) => ({ replaced: httpBodyOf(input, raw), paths: [] }) };
    const read = createJsonReader(input, options);
    return {
      kind: "json",
      read(message, { bytes }, violations) {
        return bytes.length === 0
          ? { replaced: message, paths: [] }
          : { replaced: read(parse(bytes), violations), paths: [] };
      },
    };
  }
  return createFieldBodyReader(binding, body, options);
}

/** Takes `{}` and nothing else. */
const emptyObjectReader: BodyReader = {
  kind: "json",
  read(_, { bytes }, violations) {
    const json = bytes.length === 0 ? undefined : parse(bytes);
    if (json !== undefined && !(json instanceof Map && json.size === 0)) violations.add("this method takes no body");
    return { paths: [] };
  },
};

/** Reads a body that is a message, the value of a scalar or enum, the array of a list or the object of a map. */
function createFieldBodyReader(binding: Binding, field: DescField, options: BodyOptions): BodyReader {
  const desc = field.fieldKind === "message" ? field.message : undefined;
  if (desc !== undefined && isHttpBody(desc)) {
    return {
      kind: "raw",
      read(message, raw) {
        setField(message, field, httpBodyOf(desc, raw));
        return { paths: [] };
      },
    };
  }
  const read = createJsonFieldReader(field, options);
  const bound = binding.variables.map(({ fieldPath }) => fieldPath);
  return {
    kind: "json",
    read(message, { bytes }, violations) {
      const json = bytes.length === 0 ? undefined : parse(bytes);
      const value = json === undefined ? desc && emptyOf(desc) : read(json, violations);
      if (json === null && value === undefined) violations.add("the body must not be null");
      if (value !== undefined) setField(message, field, value);
      const paths = json === undefined || desc === undefined ? [] : fieldPathsOf(desc, json);
      return { paths: paths.filter((path) => !bound.includes(`${field.name}.${path}`)) };
    },
  };
}

function emptyOf(desc: DescMessage): Message | undefined {
  return hasCustomJson(desc) ? undefined : (create(desc) as Message);
}

function parse(bytes: Uint8Array): JsonNode {
  try {
    return parseJson(bytes);
  } catch (error) {
    if (error instanceof JsonSyntaxError)
      throw invalidArgument([{ field: "", description: `malformed JSON: ${error.message}` }]);
    throw error;
  }
}

/** Whether a message stands for a raw body (google/api/httpbody.proto). */
export function isHttpBody(desc: DescMessage): boolean {
  return desc.typeName === "google.api.HttpBody";
}

function httpBodyOf(desc: DescMessage, { bytes, contentType }: RequestBody): Message {
  return Object.assign(newMessage(desc), { contentType, data: bytes });
}
