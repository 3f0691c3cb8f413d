/**
 * The only place that makes errors for callers. Each function sets the canonical code, a message with its fixed prefix
 * and the typed detail of google.rpc (AIP-193). {@link completeError} adds the `ErrorInfo`, which is the first detail
 * of every error: it needs the domain of the called method and the host in use.
 */
import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  RequestInfoSchema,
  type ResourceInfo,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "../gen/google/rpc/error_details_pb.ts";
import type { Rate } from "./token-buckets.ts";
import { type FieldViolation, listedViolations, shorten } from "./violations.ts";

export type { FieldViolation };

/** Why a request was blocked: an UPPER_SNAKE type, the uid it is about, and a sentence. */
export interface PreconditionViolation {
  readonly type: string;
  readonly subject?: string;
  readonly description: string;
}

/** A resource in an error: its type (`iam.platform.internal/Group`) and the requested uid. */
export interface ResourceName {
  readonly type: string;
  readonly uid: string;
}

/**
 * INVALID_ARGUMENT with the first violations, see violations.ts. Field paths are in snake_case, relative to the
 * resource for bodies.
 */
export function invalid(violations: FieldViolation | readonly FieldViolation[]): ConnectError {
  const fieldViolations = [...listedViolations("field" in violations ? [violations] : violations)];
  const text = fieldViolations.map((v) => (v.field === "" ? v.description : `${v.field}: ${v.description}`)).join("; ");
  return failure(Code.InvalidArgument, text, detail(BadRequestSchema, { fieldViolations }));
}

/** The error of an item of a batch, for the batch: its fields are below `path`, such as `requests[1]`. */
export function invalidWithin(path: string, error: unknown): unknown {
  if (!(error instanceof ConnectError) || error.code !== Code.InvalidArgument) return error;
  const violations = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  return invalid(violations.map((v) => ({ ...v, field: v.field === "" ? path : `${path}.${v.field}` })));
}

/**
 * The values in the message of an error, by lowerCamelCase names: the `metadata` of its `ErrorInfo` (AIP-193). Those of
 * INVALID_ARGUMENT and FAILED_PRECONDITION are in the violations.
 */
type Variables = Readonly<Record<string, string>>;

const variables = new WeakMap<ConnectError, Variables>();

function withVariables(error: ConnectError, values: Variables): ConnectError {
  variables.set(error, values);
  return error;
}

/** NOT_FOUND about one resource. `text`: for a resource that was not requested by its uid. */
export function notFound(
  resource: ResourceName,
  text = `${kindOf(resource)} ${JSON.stringify(nameOf(resource))} does not exist`,
): ConnectError {
  return withVariables(failure(Code.NotFound, text, about(resource)), variablesOf(resource));
}

/** ALREADY_EXISTS. `resource`: the one that exists. `what`: the value that collides. */
export function alreadyExists(resource: ResourceName, what: string): ConnectError {
  const error = failure(Code.AlreadyExists, `${kindOf(resource)} with ${what} exists`, about(resource));
  return withVariables(error, { ...variablesOf(resource), conflict: what });
}

/** ALREADY_EXISTS for what a batch would make twice; none exists to be named, since nothing of the batch is made. */
export function repeatedInBatch(type: string, text: string): ConnectError {
  return failure(Code.AlreadyExists, text, about({ type, uid: "" }));
}

/** FAILED_PRECONDITION with every violation. */
export function failedPrecondition(violations: PreconditionViolation | readonly PreconditionViolation[]): ConnectError {
  const all = "type" in violations ? [violations] : [...violations];
  const text = all.map((v) => v.description).join("; ");
  return failure(Code.FailedPrecondition, text, detail(PreconditionFailureSchema, { violations: all }));
}

/** PERMISSION_DENIED; the text must be the same whether or not the resource exists. `values`: those in the text. */
export function permissionDenied(text: string, values: Variables = {}): ConnectError {
  return withVariables(failure(Code.PermissionDenied, text), values);
}

/**
 * UNAUTHENTICATED without a token. `challenge`: the value of `WWW-Authenticate`, a header over HTTP and metadata over
 * gRPC.
 */
export function unauthenticated(text: string, challenge = "Bearer"): ConnectError {
  const error = failure(Code.Unauthenticated, text);
  error.metadata.set("www-authenticate", challenge);
  return error;
}

/**
 * UNAUTHENTICATED with a token that is not accepted (RFC 6750, 3.1). It does not say which key or claim failed.
 * `description`: a text without quotes that the holder of the token may read.
 */
export function invalidToken(text: string, description?: string): ConnectError {
  const more = description === undefined ? "" : `, error_description="${description}"`;
  return unauthenticated(text, `Bearer error="invalid_token"${more}`);
}

/** ABORTED: the resource changed since it was read (stale etag), or a conflict outlived its retries. */
export function aborted(text: string): ConnectError {
  return failure(Code.Aborted, text);
}

/** RESOURCE_EXHAUSTED with the quota. `retryAfterMs`: absent if waiting does not help. `values`: those in the text. */
export function resourceExhausted(
  subject: string,
  text: string,
  retryAfterMs?: number,
  values: Variables = {},
): ConnectError {
  const quota = detail(QuotaFailureSchema, { violations: [{ subject, description: text }] });
  const error = withVariables(failure(Code.ResourceExhausted, text, quota), values);
  return retryAfterMs === undefined ? error : retryable(error, retryAfterMs);
}

/** RESOURCE_EXHAUSTED by a rate limit; `policy` names it. With the header fields of the IETF's draft on rate limits. */
export function rateLimited(policy: string, { perSecond, burst }: Rate, retryAfterMs: number): ConnectError {
  const error = retryable(failure(Code.ResourceExhausted, `too many requests (${policy})`), retryAfterMs);
  withVariables(error, { policy });
  error.metadata.set("ratelimit-policy", `"${policy}";q=${burst};w=${Math.ceil(burst / perSecond)}`);
  error.metadata.set("ratelimit", `"${policy}";r=0;t=${Math.ceil(retryAfterMs / 1000)}`);
  return error;
}

/** Whether an error is that of a rate limit. */
export function isRateLimited(error: unknown): boolean {
  return error instanceof ConnectError && error.metadata.has("ratelimit");
}

/** UNIMPLEMENTED: the method is in the contract, and this server does not serve it. `values`: those in the text. */
export function unimplemented(text: string, values: Variables = {}): ConnectError {
  return withVariables(failure(Code.Unimplemented, `Unimplemented: ${text}`), values);
}

/** UNAVAILABLE: nothing was changed; the same call may succeed after `retryAfterMs`. */
export function unavailable(text: string, retryAfterMs = 1000): ConnectError {
  return retryable(failure(Code.Unavailable, text), retryAfterMs);
}

/** UNKNOWN: the call may or may not have changed something, so the client must read before it repeats the call. */
export function undecided(text: string): ConnectError {
  return failure(Code.Unknown, text);
}

/** DEADLINE_EXCEEDED: something took longer than it may. */
export function deadlineExceeded(text: string): ConnectError {
  return failure(Code.DeadlineExceeded, text);
}

/** DATA_LOSS: what is stored is damaged. The same call fails until the operator has mended it. */
export function dataLoss(text: string): ConnectError {
  return failure(Code.DataLoss, text);
}

/** INTERNAL with a fixed text. `cause` is for the log alone. */
export function internal(cause: unknown): ConnectError {
  return new ConnectError("Internal error", Code.Internal, undefined, undefined, cause);
}

/** A request that is part of a trace. */
export interface TracedRequest {
  readonly id: string;
  readonly traceId: string;
}

/**
 * Completes an error of any origin before it leaves the server. Its message gets the prefix of its code, `ErrorInfo`
 * becomes its first detail, the typed detail of its code follows, and resource types get the host in use instead of
 * that of the proto files. `domain`: the API's domain (`iam`); undefined outside any. `request`: for a `RequestInfo`.
 */
export function completeError(
  error: ConnectError,
  host: string,
  domain: string | undefined,
  request?: TracedRequest,
): ConnectError {
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
    const info = {
      reason: reasonOf(error.code),
      domain: domain === undefined ? host : `${domain}.${host}`,
      metadata: variables.get(error) ?? {},
    };
    error.details.unshift(detail(ErrorInfoSchema, info));
  }
  if (request !== undefined && !has(RequestInfoSchema))
    error.details.push(detail(RequestInfoSchema, { requestId: request.id, servingData: request.traceId }));
  return error;
}

/** The detail that errors of a code always have, for errors of a library or of the port. */
function typedDetail(code: Code, message: string): Detail | undefined {
  const description = message.slice(prefixes[code]?.length);
  if (code === Code.InvalidArgument) return detail(BadRequestSchema, { fieldViolations: [{ description }] });
  if (code === Code.ResourceExhausted) return detail(QuotaFailureSchema, { violations: [{ description }] });
  return undefined;
}

/** The name of a code in google.rpc.Code: `NOT_FOUND`. */
export function reasonOf(code: Code): string {
  return code === Code.Canceled ? "CANCELLED" : Code[code].replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase();
}

type Detail = Extract<ConnectError["details"][number], { desc: DescMessage }>;

function failure(code: Code, text: string, ...details: Detail[]): ConnectError {
  return new ConnectError(withPrefix(code, text), code, undefined, details);
}

/** Adds when to try again, as a detail and as the header `Retry-After`. */
function retryable(error: ConnectError, retryAfterMs: number): ConnectError {
  const seconds = Math.floor(retryAfterMs / 1000);
  const retryDelay = { seconds: BigInt(seconds), nanos: (retryAfterMs - seconds * 1000) * 1_000_000 };
  error.details.push(detail(RetryInfoSchema, { retryDelay }));
  error.metadata.set("retry-after", String(Math.ceil(retryAfterMs / 1000)));
  return error;
}

/** Prefixes of messages. */
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
  [Code.DataLoss]: "Data loss: ",
  [Code.DeadlineExceeded]: "Deadline exceeded: ",
};

function withPrefix(code: Code, text: string): string {
  const prefix = prefixes[code] ?? "";
  return text.startsWith(prefix) ? text : prefix + text;
}

function about(resource: ResourceName): Detail {
  return detail(ResourceInfoSchema, { resourceType: resource.type, resourceName: nameOf(resource) });
}

/** No uid is longer; a caller may send anything. */
const maxUidLength = 2048;

function nameOf({ uid }: ResourceName): string {
  return uid.length > maxUidLength ? shorten(uid) : uid;
}

function variablesOf(resource: ResourceName): Variables {
  return { kind: kindOf(resource), resource: nameOf(resource) };
}

function kindOf(resource: ResourceName): string {
  return resource.type.slice(resource.type.lastIndexOf("/") + 1);
}

function detail<D extends DescMessage>(desc: D, value: MessageInitShape<D>): Detail {
  return { desc, value: create(desc, value) as Message & Record<string, unknown> };
}
