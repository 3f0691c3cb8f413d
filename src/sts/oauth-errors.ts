/** OAuth 2.0 errors of the token service (RFC 6749, 5.2; RFC 8693, 2.2.2; RFC 7009, 2.2.1). */
import { Code, type ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { type Answer, Refusal } from "../message/index.ts";

/** An error that only OAuth has a code for. */
export class OAuthError extends Refusal {
  readonly code: string;

  constructor(code: string, description: string) {
    super(400, Code.InvalidArgument, description);
    this.code = code;
  }
}

/** Error codes of invalid parameters that have one of their own. */
const codesByField: Readonly<Record<string, string>> = {
  aud: "invalid_target",
  scopes: "invalid_scope",
  cap: "invalid_scope",
};

/** What the client presented. A bad refresh token is `invalid_grant`, a bad token in the header `invalid_client`. */
export type Presented = "subject token" | "token in the header" | "refresh token";

/** The response to an OAuth client. */
export function oauthAnswerOf(error: ConnectError, reason: unknown, presented: Presented): Answer {
  const [httpStatus, code] = reason instanceof OAuthError ? [400, reason.code] : statusOf(error, presented);
  const description = error.rawMessage.replaceAll(/[^ -~]|["\\]/g, "'");
  return {
    httpStatus,
    headers: {
      "content-type": "application/json",
      ...(httpStatus === 401 && { "www-authenticate": error.metadata.get("www-authenticate") ?? "Bearer" }),
      ...(httpStatus === 503 && { "retry-after": "1" }),
    },
    body: JSON.stringify({ error: code, error_description: description }),
  };
}

function statusOf(error: ConnectError, presented: Presented): [number, string] {
  switch (error.code) {
    case Code.InvalidArgument: {
      const fields = error.findDetails(BadRequestSchema).flatMap(({ fieldViolations }) => fieldViolations);
      const named = fields.map(({ field }) => codesByField[field]).find((code) => code !== undefined);
      return [400, named ?? "invalid_request"];
    }
    case Code.Unauthenticated:
      if (presented === "token in the header") return [401, "invalid_client"];
      return [400, presented === "refresh token" ? "invalid_grant" : "invalid_request"];
    case Code.PermissionDenied:
      return [400, "invalid_request"];
    case Code.ResourceExhausted:
      return [429, "temporarily_unavailable"];
    case Code.Aborted:
    case Code.DeadlineExceeded:
    case Code.Unavailable:
      return [503, "temporarily_unavailable"];
    default:
      return [500, "server_error"];
  }
}
