/** What the bodies of a binding are: of requests, and of responses that succeed. */
import type { DescField, DescMessage, DescMethod } from "@bufbuild/protobuf";
import type { Binding } from "../rest/index.ts";
import type { Content, Json, Schema } from "./document.ts";
import type { RestForm } from "./rest-form.ts";
import type { Schemas } from "./schemas.ts";

const anything: Json = { schema: {} };

/** The body of a request; undefined if the binding takes none. */
export function requestBody(
  binding: Binding,
  schemas: Schemas,
  { jsonTypes = [], protobufBodies }: RestForm,
  example: Json | undefined,
): Content | undefined {
  const { method, body } = binding;
  if (body === undefined) return undefined;
  const message = messageOf(body === "*" ? method.input : body);
  if (isRaw(message)) return { required: true, content: { "*/*": anything } };
  if (method.methodKind === "client_streaming")
    return { required: true, content: { "application/x-ndjson": { schema: { type: "string" } } } };
  const media = { schema: bodySchema(binding, body, schemas), ...(example !== undefined && { example }) };
  const json = ["application/json", ...jsonTypes].map((type): [string, Json] => [type, media]);
  return {
    required: body === "*" ? schemas.needs(unboundFields(binding)) : true,
    content: {
      ...Object.fromEntries(json),
      ...(protobufBodies === true && message !== undefined && { "application/x-protobuf": anything }),
    },
  };
}

function bodySchema(binding: Binding, body: DescField | "*", schemas: Schemas): Schema {
  const { method, httpMethod } = binding;
  if (body === "*") {
    const rest = unboundFields(binding);
    return rest.length < method.input.fields.length
      ? schemas.object(method.input, rest, "input")
      : schemas.message(method.input, "input");
  }
  if (body.fieldKind !== "message") return schemas.field(body, "input");
  return schemas.message(body.message, httpMethod === "PATCH" ? "patch" : "input");
}

/** The fields of the request that the path leaves. */
function unboundFields({ method, variables }: Binding): DescField[] {
  const bound = new Set(variables.map(({ fieldPath }) => fieldPath));
  return method.input.fields.filter(({ name }) => !bound.has(name));
}

/** The content of a response; undefined if it has none. */
export function responseContent(
  { method, responseBody }: Binding,
  schemas: Schemas,
  { emptyAnswer, protobufBodies }: RestForm,
  example: Json | undefined,
): Json | undefined {
  const message = messageOf(responseBody ?? method.output);
  if (isRaw(message)) return { "*/*": anything };
  const form = isMasked(method) ? "partial" : "answer";
  const schema = responseBody === undefined ? schemas.message(method.output, form) : schemas.field(responseBody, form);
  if (method.methodKind === "server_streaming")
    return {
      "application/json": { schema: { type: "array", items: schema } },
      "application/x-ndjson": { schema: { type: "string" } },
      "text/event-stream": { schema: { type: "string" } },
    };
  if (emptyAnswer === "nothing" && message?.typeName === "google.protobuf.Empty") return undefined;
  return {
    "application/json": { schema, ...(example !== undefined && { example }) },
    ...(protobufBodies === true && message !== undefined && { "application/x-protobuf": anything }),
  };
}

/** Whether requests of a method may name the fields of the answer (AIP-157). */
function isMasked({ input }: DescMethod): boolean {
  return input.fields.some(
    ({ name, message }) => name === "read_mask" && message?.typeName === "google.protobuf.FieldMask",
  );
}

/** The message that a body is; undefined for other values. */
function messageOf(body: DescMessage | DescField): DescMessage | undefined {
  if (body.kind === "message") return body;
  return body.fieldKind === "message" ? body.message : undefined;
}

function isRaw(message: DescMessage | undefined): boolean {
  return message?.typeName === "google.api.HttpBody";
}
