/** Errors of SCIM (RFC 7644, section 3.12). */

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

/** An error that the caller is told. */
export class ScimError extends Error {
  override readonly name = "ScimError";
  readonly httpStatus: number;
  readonly scimType: ScimType | undefined;
  /** Header fields of the answer. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(httpStatus: number, detail: string, scimType?: ScimType, headers: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.httpStatus = httpStatus;
    this.scimType = scimType;
    this.headers = headers;
  }
}

/** The body of an error. */
export function errorBody({ httpStatus, scimType, message }: ScimError): object {
  return {
    schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
    status: String(httpStatus),
    ...(scimType !== undefined && { scimType }),
    detail: message,
  };
}
