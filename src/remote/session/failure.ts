/** Errors of calls for people: a line for each violation, a hint where one helps, and an exit status by class. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { PlatformError, networkReason as reasonOf } from "../../client/index.ts";
import { CommandFailure } from "../../command/index.ts";

/** The exit status of each class of errors; 1 for others. */
const statuses: Readonly<Partial<Record<Code, number>>> = {
  [Code.NotFound]: 3,
  [Code.Unauthenticated]: 4,
  [Code.PermissionDenied]: 4,
  [Code.AlreadyExists]: 5,
  [Code.Aborted]: 5,
  [Code.FailedPrecondition]: 5,
  [Code.Unavailable]: 6,
  [Code.DeadlineExceeded]: 6,
  [Code.InvalidArgument]: 7,
  [Code.OutOfRange]: 7,
  [Code.ResourceExhausted]: 8,
  [Code.Canceled]: 130,
};

/** What to do after ABORTED. */
export const changedMeanwhile = "somebody else changed it at the same time; try again";

/** The failure of a command whose call failed. @param server its base URL. */
export function failureOfCall(error: PlatformError, server: string): CommandFailure {
  const reason = networkReason(error);
  if (reason !== undefined) return new CommandFailure(`cannot reach ${server} (--server): ${reason}`, 6);
  const { code, violations, preconditions, requestId } = error;
  const details = violations.length > 0 ? violations : preconditions.map((it) => ({ ...it, field: it.type }));
  const lines =
    details.length > 1
      ? details.map(({ field, description }) => (field === "" ? description : `${field}: ${description}`))
      : [];
  const hint = hintOf(error, server);
  return new CommandFailure(
    [
      lines.length > 0 ? error.rawMessage.split(":")[0]! : error.rawMessage,
      ...lines.map((line) => `  ${line}`),
      ...(hint === undefined ? [] : [`hint: ${hint}`]),
      ...(requestId === undefined ? [] : [`request id: ${requestId}`]),
    ].join("\n"),
    exitStatusOf(code),
  );
}

/** The exit status of a command whose call failed with a code. */
export function exitStatusOf(code: Code): number {
  return statuses[code] ?? 1;
}

/** The failure of a call of a method that the server may lack. Other errors are returned as they are. */
export function explainMissing(error: unknown, { parent, name }: DescMethod, server: string): unknown {
  if (!(error instanceof PlatformError) || error.code !== Code.Unimplemented) return error;
  return new CommandFailure(`${server} has no method ${parent.typeName}/${name}`);
}

function hintOf({ code, retryAfter }: PlatformError, server: string): string | undefined {
  switch (code) {
    case Code.Unauthenticated:
      return "sign in with `platform login`, or give an access token by --token or PLATFORM_TOKEN";
    case Code.Aborted:
      return changedMeanwhile;
    case Code.ResourceExhausted:
      return retryAfter === undefined ? undefined : `try again in ${Math.ceil(retryAfter / 1000)} s`;
    case Code.Unimplemented:
      return `${server} is an older server, or none of this API`;
    default:
      return undefined;
  }
}

/** Why the server was not reached; undefined if it answered. */
export function networkReason(error: Error): string | undefined {
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause)
    if (cause instanceof TypeError) return reasonOf(cause);
  return undefined;
}
