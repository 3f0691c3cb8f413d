/** Errors of calls. */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RequestInfoSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from "../../gen/google/rpc/error_details_pb.ts";

/** The details that are read. */
export const detailSchemas = [
  BadRequestSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  RequestInfoSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
];

/** The error of a call, with its details read. */
export class PlatformError extends ConnectError {
  constructor(...parameters: ConstructorParameters<typeof ConnectError>) {
    super(...parameters);
    // `name` stays `ConnectError`, by which Connect knows its errors.
    if (this.stack) this.stack = this.stack.replace(/^\w+/, "PlatformError");
  }

  override toString(): string {
    return `PlatformError: ${this.message}`;
  }

  /** ConnectError takes any error of Connect for its own instance; this is about the details read. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && "violations" in value;
  }

  /**
   * The reason of its `google.rpc.ErrorInfo`: `RESOURCE_NOT_EMPTY`; the name of the code where it has none:
   * `NOT_FOUND`.
   */
  get reason(): string {
    return this.findDetails(ErrorInfoSchema)[0]?.reason ?? nameOf(this.code);
  }

  /** The fields that the server refused, in proto names: `claim_match.subject`. */
  get violations(): readonly { readonly field: string; readonly description: string }[] {
    return this.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
  }

  /** What blocks the request: an UPPER_SNAKE type, the uid it is about, and a sentence. */
  get preconditions(): readonly { readonly type: string; readonly subject: string; readonly description: string }[] {
    return this.findDetails(PreconditionFailureSchema).flatMap(({ violations }) => violations);
  }

  /** The resource that is missing or exists already: its type and its uid. */
  get resource(): { readonly type: string; readonly uid: string } | undefined {
    const [info] = this.findDetails(ResourceInfoSchema);
    return info && { type: info.resourceType, uid: info.resourceName };
  }

  /** Milliseconds after which a further attempt may succeed; undefined where the server names none. */
  get retryAfter(): number | undefined {
    const delay = this.findDetails(RetryInfoSchema)[0]?.retryDelay;
    return delay && Number(delay.seconds) * 1000 + Math.ceil(delay.nanos / 1e6);
  }

  /** What is wrong with a token whose signature is valid: `the token is expired`. Other faults are not described. */
  get tokenFault(): string | undefined {
    return /error_description="([^"]*)"/.exec(this.metadata.get("www-authenticate") ?? "")?.[1];
  }

  /** The id of the request in the log of the server. */
  get requestId(): string | undefined {
    return this.findDetails(RequestInfoSchema)[0]?.requestId ?? this.metadata.get("x-request-id") ?? undefined;
  }
}

/** The name of a code in `google.rpc.Code`. */
function nameOf(code: Code): string {
  return code === Code.Canceled ? "CANCELLED" : Code[code].replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
}
