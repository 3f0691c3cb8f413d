/**
 * The only place that makes errors for callers. Each constructor sets the canonical code, a message with its fixed prefix and the typed
 * detail of google.rpc (AIP-193). The `ErrorInfo` that stands first in every answer is added once, by {@link atEdge},
 * because only the edge knows the domain of the method that was called and the host in use.
 */
import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  type ResourceInfo,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "../gen/google/rpc/error_details_pb.ts";
import { type FieldViolation, shorten, toldViolations } from "./violations.ts";

export type { FieldViolation };

/** Why a request was blocked: an UPPER_SNAKE type, the uid it is about, and a sentence. */
export interface PreconditionViolation {
  readonly type: string;
  readonly subject?: string;
  readonly description: string;
}

/** A resource as an error names it: its type (`iam.platform.internal/Group`) and the uid asked for. */
export interface ResourceName {
  readonly type: string;
  readonly uid: string;
}

/** INVALID_ARGUMENT with the violations in the order given, as many as an answer tells. Field paths are in snake_case, relative to the resource for bodies. */
export function invalid(violations: FieldViolation | readonly FieldViolation[]): ConnectError {
  const fieldViolations = [...toldViolations("field" in violations ? [violations] : violations)];
  const text = fieldViolations.map((v) => (v.field === "" ? v.description : `${v.field}: ${v.description}`)).join("; ");
  return failure(Code.InvalidArgument, text, detail(BadRequestSchema, { fieldViolations }));
}

/** The same error about the fields below `path`: of an item of a batch, `requests[1]`. */
export function invalidWithin(path: string, error: unknown): unknown {
  if (!(error instanceof ConnectError) || error.code !== Code.InvalidArgument) return error;
  const violations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  return invalid(violations.map((v) => ({ ...v, field: v.field === "" ? path : `${path}.${v.field}` })));
}

/** NOT_FOUND about one resource. `text` is for one that was asked for by something else than its uid. */
export function notFound(
  resource: ResourceName,
  text = `${kindOf(resource)} ${JSON.stringify(toldName(resource))} does not exist`,
): ConnectError {
  return failure(Code.NotFound, text, about(resource));
}

/** ALREADY_EXISTS; `resource` is the one that exists, `what` says which value collides. */
export function alreadyExists(resource: ResourceName, what: string): ConnectError {
  return failure(Code.AlreadyExists, `${kindOf(resource)} with ${what} exists`, about(resource));
}

/** FAILED_PRECONDITION with every violation. */
export function failedPrecondition(violations: PreconditionViolation | readonly PreconditionViolation[]): ConnectError {
  const all = "type" in violations ? [violations] : [...violations];
  const text = all.map((v) => v.description).join("; ");
  return failure(Code.FailedPrecondition, text, detail(PreconditionFailureSchema, { violations: all }));
}

/** PERMISSION_DENIED; the text must be the same whether or not the resource exists. */
export function permissionDenied(text: string): ConnectError {
  return failure(Code.PermissionDenied, text);
}

/** UNAUTHENTICATED without a token; says what to send. `challenge` is what `WWW-Authenticate` says over HTTP, metadata over gRPC. */
export function unauthenticated(text: string, challenge = "Bearer"): ConnectError {
  const error = failure(Code.Unauthenticated, text);
  error.metadata.set("www-authenticate", challenge);
  return error;
}

/**
 * UNAUTHENTICATED with a token that is not accepted, told as RFC 6750, 3.1, has it; never which key or claim failed in detail. `description` is for
 * what is no secret to who has the token; it has no quotes.
 */
export function invalidToken(text: string, description?: string): ConnectError {
  const more = description === undefined ? "" : `, error_description="${description}"`;
  return unauthenticated(text, `Bearer error="invalid_token"${more}`);
}

/** ABORTED: the resource changed since it was read (stale etag), or a conflict outlived its retries. */
export function aborted(text: string): ConnectError {
  return failure(Code.Aborted, text);
}

/** RESOURCE_EXHAUSTED with the quota and, if waiting helps, how long to wait in milliseconds. */
export function resourceExhausted(subject: string, text: string, retryAfterMs?: number): ConnectError {
  const quota = detail(QuotaFailureSchema, { violations: [{ subject, description: text }] });
  if (retryAfterMs === undefined) return failure(Code.ResourceExhausted, text, quota);
  return retryable(failure(Code.ResourceExhausted, text, quota), retryAfterMs);
}

/** UNIMPLEMENTED: the contract names the method, this server does not serve it yet. */
export function unimplemented(text: string): ConnectError {
  return failure(Code.Unimplemented, `Unimplemented: ${text}`);
}

/** UNAVAILABLE: nothing was changed; the same call may succeed after `retryAfterMs`. */
export function unavailable(text: string, retryAfterMs = 1000): ConnectError {
  return retryable(failure(Code.Unavailable, text), retryAfterMs);
}

/** UNKNOWN: whether the call has changed something is not known, so that it must not be repeated without looking. */
export function undecided(text: string): ConnectError {
  return failure(Code.Unknown, text);
}

/** DEADLINE_EXCEEDED: something took longer than it may. */
export function deadlineExceeded(text: string): ConnectError {
  return failure(Code.DeadlineExceeded, text);
}

/** INTERNAL with the fixed text that hides a bug; the cause stays for the log. */
export function internal(cause: unknown): ConnectError {
  return new ConnectError("Internal error", Code.Internal, undefined, undefined, cause);
}

/**
 * The error as it leaves the server, whoever made it: its message begins as its code wants, `ErrorInfo` is its first detail, the typed detail of
 * its code follows, and resource types carry the host in use instead of the one that the proto files are annotated with. `domain` is the API's
 * domain (`iam`), undefined outside any.
 */
export function atEdge(error: ConnectError, host: string, domain: string | undefined): ConnectError {
  const message = withPrefix(error.code, error.rawMessage);
  if (message !== error.rawMessage) Object.assign(error, { rawMessage: message, message });
  const typeOf = (d: ConnectError["details"][number]) => ("desc" in d ? d.desc.typeName : d.type);
  for (const d of error.details) {
    if ("desc" in d && d.desc.typeName === ResourceInfoSchema.typeName) {
      const info = d.value as ResourceInfo;
      info.resourceType = info.resourceType.replace(/(?<=^[a-z]+)\.platform\.internal(?=\/)/, () => `.${host}`);
    }
  }
  const has = (desc: DescMessage) => error.details.some((d) => typeOf(d) === desc.typeName);
  const typed = typedDetail(error.code, message);
  if (typed !== undefined && !has(typed.desc)) error.details.push(typed);
  if (!has(ErrorInfoSchema)) {
    const info = { reason: reasonOf(error.code), domain: domain === undefined ? host : `${domain}.${host}` };
    error.details.unshift(detail(ErrorInfoSchema, info));
  }
  return error;
}

/** The detail that errors of a code always carry, for those that a library or the port itself made. */
function typedDetail(code: Code, message: string): Detail | undefined {
  const description = message.slice(prefixes[code]?.length);
  if (code === Code.InvalidArgument) return detail(BadRequestSchema, { fieldViolations: [{ description }] });
  if (code === Code.ResourceExhausted) return detail(QuotaFailureSchema, { violations: [{ description }] });
  return undefined;
}

/** A code's name as google.rpc.Code spells it: `NOT_FOUND`. */
export function reasonOf(code: Code): string {
  return code === Code.Canceled ? "CANCELLED" : Code[code].replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase();
}

type Detail = Extract<ConnectError["details"][number], { desc: DescMessage }>;

function failure(code: Code, text: string, ...details: Detail[]): ConnectError {
  return new ConnectError(withPrefix(code, text), code, undefined, details);
}

/** Adds when to try again: as a detail, and as the header of HTTP. */
function retryable(error: ConnectError, retryAfterMs: number): ConnectError {
  const seconds = Math.floor(retryAfterMs / 1000);
  const retryDelay = { seconds: BigInt(seconds), nanos: (retryAfterMs - seconds * 1000) * 1_000_000 };
  error.details.push(detail(RetryInfoSchema, { retryDelay }));
  error.metadata.set("retry-after", String(Math.ceil(retryAfterMs / 1000)));
  return error;
}

/** How the messages of a code begin. */
const prefixes: Readonly<Partial<Record<Code, string>>> = {
  [Code.InvalidArgument]: "Invalid argument: ",
  [Code.NotFound]: "Not found: ",
  [Code.AlreadyExists]: "Already exists: ",
  [Code.PermissionDenied]: "Permission denied: ",
  [Code.ResourceExhausted]: "Resource exhausted: ",
  [Code.FailedPrecondition]: "Precondition failed: ",
  [Code.Aborted]: "Aborted: ",
  [Code.Unavailable]: "Unavailable: ",
  [Code.Unknown]: "Unknown: ",
  [Code.Unauthenticated]: "Unauthenticated: ",
  [Code.DeadlineExceeded]: "Deadline exceeded: ",
};

function withPrefix(code: Code, text: string): string {
  const prefix = prefixes[code] ?? "";
  return text.startsWith(prefix) ? text : prefix + text;
}

function about(resource: ResourceName): Detail {
  return detail(ResourceInfoSchema, { resourceType: resource.type, resourceName: toldName(resource) });
}

/** No uid is longer than this; what a caller takes for one may be. */
const maxUidLength = 2048;

function toldName({ uid }: ResourceName): string {
  return uid.length > maxUidLength ? shorten(uid) : uid;
}

function kindOf(resource: ResourceName): string {
  return resource.type.slice(resource.type.lastIndexOf("/") + 1);
}

function detail<D extends DescMessage>(desc: D, value: MessageInitShape<D>): Detail {
  return { desc, value: create(desc, value) as Message & Record<string, unknown> };
}
