/**
 * Errors as google.rpc.Status in JSON, `{code, message, details}`, under the HTTP status that google/rpc/code.proto
 * gives each code. What HTTP itself refuses (no such path, body too large) keeps the HTTP status of its own.
 */
import type { OutgoingHttpHeaders } from "node:http";
import {
  create,
  createRegistry,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type Message,
  type Registry,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import type { Eventually } from "../eventually.ts";
import { type FieldViolation, toldViolations } from "../violations.ts";
import { responseHeaders } from "./headers.ts";
import type { HttpResponse } from "./http.ts";
import { send } from "./send.ts";

const HTTP_STATUS: Readonly<Record<Code, number>> = {
  [Code.Canceled]: 499,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 504,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 400,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 501,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401,
};

/** The HTTP status of a code. */
export function httpStatusOf(code: Code): number {
  return HTTP_STATUS[code] ?? 500;
}

/** An error whose HTTP status does not follow from its code. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly httpStatus: number;
  readonly error: ConnectError;

  constructor(httpStatus: number, code: Code, message: string, headers?: Record<string, string>) {
    super(message);
    this.httpStatus = httpStatus;
    this.error = new ConnectError(message, code, headers);
  }
}

/** INVALID_ARGUMENT with the violations, as many as an answer tells, in its message and in a google.rpc.BadRequest. */
export function invalidArgument(violations: readonly FieldViolation[]): ConnectError {
  const fieldViolations = toldViolations(violations);
  const text = fieldViolations.map(({ field, description }) =>
    field === "" ? description : `${field}: ${description}`,
  );
  return new ConnectError(`Invalid argument: ${text.join("; ")}`, Code.InvalidArgument, undefined, [
    { desc: BadRequestSchema, value: { fieldViolations: [...fieldViolations] } },
  ]);
}

/** How errors are written. */
export interface StatusOptions {
  /** Finds the types of error details that were not made in this process. */
  readonly registry: Registry;
  /** Put the status into a member `error`, as AIP-193 shows it. */
  readonly wrapErrors?: boolean | undefined;
  /** The HTTP status, where it does not follow from the code. */
  readonly httpStatus?: number | undefined;
  /** Header fields beside those of the error. */
  readonly headers?: OutgoingHttpHeaders | undefined;
}

/** Answers a request with an error. Headers already set on the response are kept. */
export function writeStatus(response: HttpResponse, error: ConnectError, options: StatusOptions): Eventually<void> {
  const httpStatus = options.httpStatus ?? httpStatusOf(error.code);
  const retryDelay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const headers = responseHeaders(options.headers, error.metadata);
  headers["content-type"] = "application/json";
  if (httpStatus === 401) {
    headers["www-authenticate"] ??= "Bearer";
  }
  if (retryDelay !== undefined) {
    headers["retry-after"] ??= String(Math.max(0, Math.ceil(Number(retryDelay.seconds) + retryDelay.nanos / 1e9)));
  }
  const status = formatStatus(error, options.registry);
  return send(response, { httpStatus, headers, body: options.wrapErrors ? wrapStatus(status) : status });
}

/** The JSON text of an error as google.rpc.Status. */
export function formatStatus(error: ConnectError, registry: Registry): string {
  const details = error.details.map((detail) => formatDetail(detail, registry));
  return `{"code":${error.code},"message":${JSON.stringify(error.rawMessage)},"details":[${details.join(",")}]}`;
}

/** A status as the only member, `error`, of an object. */
export function wrapStatus(status: string): string {
  return `{"error":${status}}`;
}

/** A detail shows what it says and no zero values but the field of a violation, "" where none applies. One that cannot be decoded shows its bytes; it never hides the error it came with. */
function formatDetail(detail: ConnectError["details"][number], registry: Registry): string {
  try {
    if ("desc" in detail) return formatAny(detail.desc, create(detail.desc, detail.value));
    const desc = registry.getMessage(detail.type);
    if (desc !== undefined) return formatAny(desc, fromBinary(desc, detail.value));
  } catch {
    // Shown as bytes.
  }
  const [type, bytes] =
    "desc" in detail
      ? [detail.desc.typeName, toBinary(detail.desc, create(detail.desc, detail.value))]
      : [detail.type, detail.value];
  return JSON.stringify({ "@type": `type.googleapis.com/${type}`, value: Buffer.from(bytes).toString("base64") });
}

function formatAny(desc: DescMessage, message: Message): string {
  const json = toJson(AnySchema, anyPack(desc, message), { registry: createRegistry(desc) }) as JsonObject;
  if (desc.typeName === BadRequestSchema.typeName) {
    const violations = (json.fieldViolations ?? []) as JsonObject[];
    json.fieldViolations = violations.map((violation) => ({ field: "", ...violation }));
  }
  return JSON.stringify({ "@type": "", ...json });
}
