/** Errors of SCIM (RFC 7644, section 3.12). */
import { Code, type ConnectError } from "@connectrpc/connect";
import { type Answer, httpStatusOf, Refusal } from "../message/index.ts";

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
  501: Code.Unimplemented,
};

/** An error that the caller gets. */
export class ScimError extends Refusal {
  readonly scimType: ScimType | undefined;

  /** @param headers header fields of the answer. */
  constructor(httpStatus: number, detail: string, scimType?: ScimType, headers?: Record<string, string>) {
    super(httpStatus, codes[httpStatus] ?? Code.Internal, detail, headers);
    this.scimType = scimType;
  }
}

/** The answer to an error of any origin. */
export function errorAnswer(error: ConnectError, reason: unknown): Answer {
  const httpStatus = reason instanceof Refusal ? reason.httpStatus : httpStatusOf(error.code);
  const document = {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(httpStatus),
    scimType: reason instanceof ScimError ? reason.scimType : undefined,
    detail: error.rawMessage,
  };
  return jsonAnswer(httpStatus, document, Object.fromEntries(error.metadata));
}

/** An answer with a document: an object, or its JSON. */
export function jsonAnswer(
  httpStatus: number,
  document: object | string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const body = typeof document === "string" ? document : JSON.stringify(document);
  return { httpStatus, headers: { "content-type": "application/scim+json", ...headers }, body };
}
