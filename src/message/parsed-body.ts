/** Bodies that a middleware of the host has read before. */
import { Code, ConnectError } from "@connectrpc/connect";
import { headerOf, type PortRequest } from "./message.ts";
import { invalidArgument } from "./refusal.ts";

/** Whether the body of a request has been read. */
export function isRead(request: PortRequest): boolean {
  return request.readableEnded;
}

/**
 * The body that a middleware such as `express.json()` has read and left in `body`: bytes, text, or parsed JSON.
 * `mustBeExact`: parsed JSON will not do. Errors: INTERNAL if there is none; INVALID_ARGUMENT for a number that may
 * have been rounded when it was parsed.
 */
export function readBefore(request: PortRequest, mustBeExact: boolean): Uint8Array {
  const { body } = request as PortRequest & { body?: unknown };
  if (body instanceof Uint8Array) return body;
  if (body === undefined || mustBeExact)
    throw new ConnectError(
      "Internal error: a middleware has read the body. The REST handler must come before it",
      Code.Internal,
    );
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (isJsonAsForm(body, headerOf(request, "content-type")))
    throw new ConnectError(
      "Internal error: a middleware has read JSON as a form. The REST handler must come before it",
      Code.Internal,
    );
  return new TextEncoder().encode(JSON.stringify(body, refuseRounded));
}

/** Whether the body is what `express.urlencoded()` makes of JSON, which `curl -d` sends with the type of forms. */
function isJsonAsForm(body: unknown, contentType = ""): boolean {
  if (!/^application\/x-www-form-urlencoded\b/i.test(contentType)) return false;
  return /^\s*[{["]/.test(Object.keys(body ?? {})[0] ?? "");
}

function refuseRounded(_: string, value: unknown): unknown {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY)
    throw invalidArgument([{ field: "", description: "a number is beyond double precision" }]);
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw invalidArgument([{ field: "", description: "an integer beyond 2^53 must be given as a string" }]);
  return value;
}
