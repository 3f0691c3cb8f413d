/** Bodies that a middleware of the host has read before. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { PortRequest } from "./message.ts";
import { invalidArgument } from "./refusal.ts";

/** Whether the body of a request has been read. */
export function isRead(request: PortRequest): boolean {
  return request.readableEnded;
}

/**
 * The body that a middleware such as `express.json()` has read and left in `body`: bytes, text, or parsed JSON.
 * `mustBeExact`: parsed JSON will not do. Errors: INTERNAL if there is none; INVALID_ARGUMENT for an integer that may have
 * been rounded when it was parsed.
 */
export function readBefore(request: PortRequest, mustBeExact: boolean): Uint8Array {
  const { body } = request as PortRequest & { body?: unknown };
  if (body instanceof Uint8Array) return body;
  if (body === undefined || mustBeExact)
    throw new ConnectError(
      "Internal error: a middleware has read the body. The REST handler must come before it",
      Code.Internal,
    );
  return new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body, refuseRounded));
}

function refuseRounded(_: string, value: unknown): unknown {
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw invalidArgument([{ field: "", description: "an integer beyond 2^53 must be given as a string" }]);
  return value;
}
