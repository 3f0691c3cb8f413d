/**
 * Errors as JSON, by default as google.rpc.Status, `{code, message, details}`, under the HTTP status that
 * google/rpc/code.proto assigns to each code. Errors of HTTP itself (unknown path, body too large) have their own HTTP
 * status.
 */

import type { OutgoingHttpHeaders } from "node:http";
import {
  create,
  createRegistry,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectError } from "@connectrpc/connect";
import { CodeSchema } from "../../gen/google/rpc/code_pb.ts";
import { BadRequestSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Awaitable } from "../awaitable.ts";
import { type HttpResponse, httpStatuses, httpStatusOf, send } from "../message/index.ts";
import { type HeaderMatcher, responseHeaders } from "./headers.ts";

/**
 * The form of errors: a google.rpc.Status, `{code, message, details}`; as AIP-193 shows them, `{error: {code, message,
 * status, details}}`, where the code is the HTTP status; or what a function returns.
 */
export type ErrorShape = "flat" | "aip-193" | ((error: ConnectError, httpStatus: number) => JsonValue);

/** Options for writing errors. */
export interface StatusOptions {
  /** Finds the types of error details that were not made in this process. */
  readonly registry: Registry;
  /** Default `flat`. */
  readonly errors?: ErrorShape | undefined;
  /** The HTTP status, where it does not follow from the code. */
  readonly httpStatus?: number | undefined;
  /** Maps the names of the error's header fields. */
  readonly responseHeader?: HeaderMatcher | undefined;
  /** Header fields besides those of the error. */
  readonly headers?: OutgoingHttpHeaders | undefined;
}

/** Responds with an error. Headers already set on the response are kept. */
export function writeStatus(response: HttpResponse, error: ConnectError, options: StatusOptions): Awaitable<void> {
  const httpStatus = options.httpStatus ?? httpStatusOf(error.code);
  const retryDelay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const headers = responseHeaders(options.headers, error.metadata, undefined, options.responseHeader);
  headers["content-type"] = "application/json";
  if (httpStatus === 401) headers["www-authenticate"] ??= "Bearer";
  if (retryDelay !== undefined)
    headers["retry-after"] ??= String(Math.max(0, Math.ceil(Number(retryDelay.seconds) + retryDelay.nanos / 1e9)));
  return send(response, { httpStatus, headers, body: formatError(error, httpStatus, options) });
}

/** The JSON text of an error. */
export function formatError(
  error: ConnectError,
  httpStatus: number,
  { registry, errors = "flat" }: Pick<StatusOptions, "registry" | "errors">,
): string {
  if (typeof errors === "function") return formattedBy(errors, error, httpStatus) ?? formatStatus(error, registry);
  if (errors === "flat") return formatStatus(error, registry);
  const { name } = CodeSchema.value[codeOf(error)] as { name: string };
  return `{"error":{"code":${httpStatus},"message":${JSON.stringify(error.rawMessage)},"status":"${name}","details":${formatDetails(error, registry)}}}`;
}

/** What a function returns as JSON text; undefined if it throws or returns no JSON. */
function formattedBy(
  shape: (error: ConnectError, httpStatus: number) => JsonValue,
  error: ConnectError,
  httpStatus: number,
): string | undefined {
  try {
    return JSON.stringify(shape(error, httpStatus));
  } catch {
    return undefined;
  }
}

/** The code of an error; UNKNOWN for a number that is none. */
function codeOf({ code }: ConnectError): Code {
  return code in httpStatuses ? code : Code.Unknown;
}

/** The JSON text of an error among the messages of a stream: an object whose only member is `error`. */
export function wrapError(json: string, errors: ErrorShape | undefined): string {
  return errors === "aip-193" ? json : `{"error":${json}}`;
}

/** The JSON text of an error as google.rpc.Status. */
export function formatStatus(error: ConnectError, registry: Registry): string {
  return `{"code":${codeOf(error)},"message":${JSON.stringify(error.rawMessage)},"details":${formatDetails(error, registry)}}`;
}

function formatDetails({ details }: ConnectError, registry: Registry): string {
  return `[${details.map((detail) => formatDetail(detail, registry)).join(",")}]`;
}

/**
 * The JSON of a detail, without zero values, except for the field of a violation. A detail that cannot be decoded is
 * written as bytes, so that it never hides its error.
 */
function formatDetail(detail: ConnectError["details"][number], registry: Registry): string {
  try {
    if ("desc" in detail) return formatAny(detail.desc, create(detail.desc, detail.value));
    const desc = registry.getMessage(detail.type);
    if (desc !== undefined) return formatAny(desc, fromBinary(desc, detail.value));
  } catch {
    // Written as bytes.
  }
  const [type, bytes] =
    "desc" in detail
      ? [detail.desc.typeName, toBinary(detail.desc, create(detail.desc, detail.value))]
      : [detail.type, detail.value];
  return JSON.stringify({ "@type": `type.googleapis.com/${type}`, value: Buffer.from(bytes).toString("base64") });
}

function formatAny(desc: DescMessage, message: Message): string {
  const json = jsonOfAny(desc, message);
  if (desc.typeName === BadRequestSchema.typeName) {
    const violations = (json.fieldViolations ?? []) as JsonObject[];
    json.fieldViolations = violations.map((violation) => ({ field: "", ...violation }));
  }
  return JSON.stringify({ "@type": "", ...json });
}

/** The JSON of an Any with this message. That of a well-known type has a member `value`. */
function jsonOfAny(desc: DescMessage, message: Message): JsonObject {
  if (desc.typeName.startsWith("google.protobuf."))
    return toJson(AnySchema, anyPack(desc, message), { registry: createRegistry(desc) }) as JsonObject;
  return { "@type": `type.googleapis.com/${desc.typeName}`, ...(toJson(desc, message) as JsonObject) };
}
