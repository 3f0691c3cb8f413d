/**
 * One request message from path, query and body, compiled per binding.
 *
 * The path wins over the body. Path and query are checked before the body is read. A PATCH whose body is a field and
 * whose query has no `update_mask` gets one from the JSON keys present, so that `{"description": ""}` clears a field
 * and an absent key keeps it. Fields that the path binds are not part of the mask. A protobuf body has no keys, and gets
 * no mask.
 */

import { create, type DescField, type DescMessage, type Message, type Registry } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  createJsonFieldReader,
  createJsonReader,
  fieldPathsOf,
  hasCustomJson,
  type JsonNode,
  JsonSyntaxError,
  type Local,
  parseJson,
  setField,
  Violations,
} from "../../codec/index.ts";
import { type BodyKind, invalidArgument, Refusal } from "../../message/index.ts";
import type { Binding, BoundVariable } from "../binding.ts";
import { isRequired } from "../field-behavior.ts";
import { findField, holderOf, leafField } from "../field-path.ts";
import { captureOf, type SlashInMultiSegment } from "../path.ts";
import { createProtobufReader, isProtobuf, protobufTypes } from "../protobuf.ts";
import { createQueryReader } from "./query.ts";
import { textReaderOf } from "./text-value.ts";

/** Options of a request reader. */
interface RequestOptions {
  readonly registry: Registry;
  /** Skip unknown keys of the body instead of refusing them. */
  readonly ignoreUnknownFields?: boolean | undefined;
  /** Skip unknown query parameters instead of refusing them. */
  readonly ignoreUnknownParameters?: boolean | undefined;
  /** How `%2F` in captures of several segments is treated; default `keep`. */
  readonly slashInMultiSegment?: SlashInMultiSegment | undefined;
  /** Media types that are read as JSON besides the usual ones. */
  readonly jsonTypes?: readonly string[] | undefined;
  /** Take bodies in the wire format, too. */
  readonly protobufBodies?: boolean | undefined;
}

/** The decompressed body. */
interface RequestBody {
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** Reads the requests of one binding. */
export interface RequestReader {
  readonly bodyKind: BodyKind;
  /** Media types of bodies besides those of JSON. */
  readonly moreTypes: readonly string[] | undefined;
  /** The kind of a body of this content type; absent if it is always `bodyKind`. Errors: 415. */
  readonly kindOf?: ((contentType: string) => BodyKind) | undefined;
  /**
   * Checks path and query, and returns the function that completes the message with the body.
   * Errors of both: INVALID_ARGUMENT with all violations.
   */
  begin(segments: readonly string[], query: string): (body: RequestBody) => Message;
}

/** The reader for the requests of a binding. */
export function createRequestReader(binding: Binding, options: RequestOptions): RequestReader {
  const { input } = binding.method;
  const readQuery = createQueryReader(binding, options.ignoreUnknownParameters ?? false);
  const json = createBodyReader(binding, options);
  const readBody =
    options.protobufBodies === true && json.kind === "json" ? withProtobuf(json, binding, options) : json;
  const maskField = impliedMaskField(binding);
  return {
    bodyKind: readBody.kind,
    moreTypes: readBody.moreTypes ?? options.jsonTypes,
    kindOf: readBody.kindOf,
    begin(segments, query) {
      const violations = new Violations();
      const captures = binding.variables.map((variable) =>
        readCapture(
          variable,
          captureOf(variable, binding, segments, options.slashInMultiSegment ?? "keep"),
          violations,
        ),
      );
      let message = create(input) as Message;
      const given = query === "" ? noNames : readQuery(query, message, violations);
      throwIfAny(violations);
      return (body) => {
        const { replaced, paths } = readBody.read(message, body, violations);
        throwIfAny(violations);
        message = replaced ?? message;
        if (maskField !== undefined && paths !== undefined && !given.has(maskField.name))
          setField(message as unknown as Local, maskField, create(FieldMaskSchema, { paths }));
        for (const [index, { path }] of binding.variables.entries())
          setField(holderOf(message, path), leafField(path), captures[index]);
        return message;
      };
    },
  };
}

const noNames: ReadonlySet<string> = new Set();

function throwIfAny(violations: Violations): void {
  if (violations.list.length > 0) throw invalidArgument(violations.list);
}

function readCapture({ path, fieldPath }: BoundVariable, text: string | undefined, violations: Violations): unknown {
  const reader = textReaderOf(leafField(path));
  if (text === undefined || reader === undefined)
    return violations.add("malformed escape or text in the path", fieldPath);
  if (text === "" && isRequired(leafField(path))) return violations.add("is required", fieldPath);
  return reader.read(text) ?? violations.add(`must be ${reader.expects}`, fieldPath);
}

function impliedMaskField(binding: Binding): DescField | undefined {
  const field = findField(binding.method.input, "update_mask");
  const isMask = field?.fieldKind === "message" && field.message.typeName === FieldMaskSchema.typeName;
  return binding.httpMethod === "PATCH" && typeof binding.body === "object" && isMask ? field : undefined;
}

interface BodyReader {
  readonly kind: BodyKind;
  readonly moreTypes?: RequestReader["moreTypes"];
  readonly kindOf?: RequestReader["kindOf"];
  /** Puts the body into the message, or returns one that replaces it; and the paths of the fields in the JSON. */
  read(message: Message, body: RequestBody, violations: Violations): { replaced?: Message; paths?: string[] };
}

function createBodyReader(binding: Binding, options: RequestOptions): BodyReader {
  const { body } = binding;
  if (body === undefined) return { kind: "none", read: () => ({ paths: [] }) };
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

/** Adds the wire format to JSON. A body that is no message is refused in it. */
function withProtobuf(json: BodyReader, binding: Binding, { jsonTypes = [] }: RequestOptions): BodyReader {
  const readProtobuf = createProtobufReader(binding);
  if (readProtobuf === undefined) return { ...json, kindOf: refuseProtobuf(binding, json.kind, jsonTypes) };
  return {
    kind: json.kind,
    moreTypes: [...jsonTypes, ...protobufTypes],
    kindOf: (contentType) => (isProtobuf(contentType) ? "raw" : json.kind),
    read(message, body, violations) {
      if (!isProtobuf(body.contentType)) return json.read(message, body, violations);
      return { replaced: readProtobuf(message, body.bytes) };
    },
  };
}

function refuseProtobuf(
  { body }: Binding,
  kind: BodyKind,
  jsonTypes: readonly string[],
): NonNullable<RequestReader["kindOf"]> {
  const name = (body as DescField).name;
  return (contentType) => {
    if (!isProtobuf(contentType)) return kind;
    throw new Refusal(
      415,
      Code.InvalidArgument,
      `Invalid argument: the body, ${name}, is no message: it must be JSON`,
      {
        accept: ["application/json", ...jsonTypes].join(", "),
      },
    );
  };
}

function createFieldBodyReader(binding: Binding, field: DescField, options: RequestOptions): BodyReader {
  if (field.fieldKind !== "message") return createValueBodyReader(field, options);
  const desc = field.message;
  if (isHttpBody(desc)) {
    return {
      kind: "raw",
      read(message, raw) {
        setField(message as unknown as Local, field, httpBodyOf(desc, raw));
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
      const value = json === undefined ? emptyOf(desc) : read(json, violations);
      if (json === null && value === undefined) violations.add("the body must not be null");
      if (value !== undefined) setField(message as unknown as Local, field, value);
      const paths = json === undefined ? [] : fieldPathsOf(desc, json);
      return { paths: paths.filter((path) => !bound.includes(`${field.name}.${path}`)) };
    },
  };
}

/** Reads a body that is the value of a scalar or enum field, the array of a list or the object of a map. */
function createValueBodyReader(field: DescField, options: RequestOptions): BodyReader {
  const read = createJsonFieldReader(field, options);
  return {
    kind: "json",
    read(message, { bytes }, violations) {
      const json = bytes.length === 0 ? undefined : parse(bytes);
      const value = json === undefined ? undefined : read(json, violations);
      if (json === null && value === undefined) violations.add("the body must not be null");
      if (value !== undefined) setField(message as unknown as Local, field, value);
      return { paths: [] };
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
  return Object.assign(create(desc) as unknown as Local, { contentType, data: bytes }) as unknown as Message;
}
