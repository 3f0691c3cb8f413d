/** Errors with an HTTP status of their own. */
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { type FieldViolation, listedViolations } from "../violations.ts";

/** The HTTP status that google/rpc/code.proto gives each code. */
export const httpStatuses: Readonly<Record<Code, number>> = {
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
  return httpStatuses[code] ?? 500;
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

/** INVALID_ARGUMENT with the violations, up to a limit, in its message and in a google.rpc.BadRequest. */
export function invalidArgument(violations: readonly FieldViolation[]): ConnectError {
  const fieldViolations = listedViolations(violations);
  const text = fieldViolations.map(({ field, description }) =>
    field === "" ? description : `${field}: ${description}`,
  );
  return new ConnectError(`Invalid argument: ${text.join("; ")}`, Code.InvalidArgument, undefined, [
    { desc: BadRequestSchema, value: { fieldViolations: [...fieldViolations] } },
  ]);
}
