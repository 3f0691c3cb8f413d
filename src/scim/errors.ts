/** Errors of SCIM (RFC 7644, section 3.12). */
import { Code, ConnectError } from "@connectrpc/connect";
import { httpStatusOf } from "../message/index.ts";

/** The kinds of errors that have a name of their own. */
export type ScimType =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue"
  | "invalidVers";

/** The codes of the log, the metrics and the audit log. */
const codes: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  405: Code.Unimplemented,
  409: Code.AlreadyExists,
  412: Code.Aborted,
  413: Code.ResourceExhausted,
  415: Code.InvalidArgument,
  501: Code.Unimplemented,
};

/** An error that the caller gets. */
export class ScimError extends ConnectError {
  readonly httpStatus: number;
  readonly scimType: ScimType | undefined;

  /** @param headers header fields of the answer. */
  constructor(httpStatus: number, detail: string, scimType?: ScimType, headers?: Readonly<Record<string, string>>) {
    super(detail, codes[httpStatus] ?? Code.Internal, headers);
    this.httpStatus = httpStatus;
    this.scimType = scimType;
  }

  /** That of ConnectError goes by its name. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && Object.hasOwn(value, "scimType");
  }
}

/** The answer to an error of any origin. */
export function errorAnswer(error: ConnectError): {
  readonly status: number;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
} {
  const status = error instanceof ScimError ? error.httpStatus : httpStatusOf(error.code);
  return {
    status,
    body: {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      status: String(status),
      ...(error instanceof ScimError && error.scimType !== undefined && { scimType: error.scimType }),
      detail: error.rawMessage,
    },
    headers: Object.fromEntries(error.metadata),
  };
}
