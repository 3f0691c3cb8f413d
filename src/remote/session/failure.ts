/** Errors of calls for people: a line for each violation, a hint where one helps, and an exit status by class. */
import { Code } from "@connectrpc/connect";
import { isUntrusted, networkReason, PlatformError } from "../../client/index.ts";
import { InvalidProfileError, ProfileError } from "../../client-node/index.ts";
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

/** Errors that every other call would get as well. */
const general: readonly Code[] = [
  Code.Unauthenticated,
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
];

/** What to do about a certificate of an authority that is not known. */
export const trustAnAuthority = "name the certificate of its authority by --ca FILE or PLATFORM_CA";

/** What to do after ABORTED. */
const changedMeanwhile = "somebody else changed it at the same time; try again";

/**
 * The failure of a command whose call failed.
 * @param server its base URL. @param message of an answer of this API; that of the error unless given.
 */
export function failureOfCall(error: PlatformError, server: string, message = messageOf(error)): CommandFailure {
  const profileFailure = failureOfProfile(error);
  if (profileFailure !== undefined) return profileFailure;
  const reason = networkReason(error);
  if (reason !== undefined) {
    const hints = isUntrusted(error) ? [`hint: ${trustAnAuthority}`] : [];
    return new CommandFailure([`cannot reach ${server} (--server): ${reason}`, ...hints], 6);
  }
  const { code, violations, preconditions, requestId } = error;
  const foreign = foreignForm(error);
  if (foreign !== undefined) return foreignAnswer(server, foreign, exitStatusOf(code));
  const details = violations.length > 0 ? violations : preconditions.map((it) => ({ ...it, field: it.type }));
  const lines =
    details.length > 1
      ? details.map(({ field, description }) => (field === "" ? description : `${field}: ${description}`))
      : [];
  const hint = hintOf(error, server);
  return new CommandFailure(
    [
      lines.length > 0 ? message.split(":")[0]! : message,
      ...lines.map((line) => `  ${line}`),
      ...(hint === undefined ? [] : [`hint: ${hint}`]),
      ...(requestId === undefined ? [] : [`request id: ${requestId}`]),
    ],
    exitStatusOf(code),
  );
}

/**
 * An error as a failure, and whether every other call would fail in the same way. Other errors are thrown.
 * @param server the base URL of the server that was called.
 */
export function failureOf(
  error: unknown,
  server: string,
): { readonly failure: CommandFailure; readonly concernsAll: boolean } {
  if (error instanceof CommandFailure) return { failure: error, concernsAll: false };
  if (!(error instanceof PlatformError)) throw error;
  const concernsAll =
    networkReason(error) !== undefined || failureOfProfile(error) !== undefined || general.includes(error.code);
  return { failure: failureOfCall(error, server), concernsAll };
}

/** The failure for a profile that cannot be used, also where a call asked for its token; undefined for other errors. */
export function failureOfProfile(error: unknown): CommandFailure | undefined {
  const found = [error, (error as Error).cause].find((it) => it instanceof ProfileError);
  return found && new CommandFailure(found.message, found instanceof InvalidProfileError ? 2 : 4);
}

/** The exit status of a command whose call failed with a code. */
function exitStatusOf(code: Code): number {
  return statuses[code] ?? 1;
}

/** The failure for an answer that no server of this API gives. @param what is answered, and how. */
export function foreignAnswer(server: string, what: string, exitStatus?: number): CommandFailure {
  const hint = "is it the address of a server of this API, or does a proxy answer in its place?";
  return new CommandFailure([`${server} (--server) answers ${what}`, `hint: ${hint}`], exitStatus);
}

/** The form of an answer that is none of Connect; undefined for any other error. */
function foreignForm({ rawMessage, cause, metadata }: PlatformError): string | undefined {
  const type = metadata.get("content-type");
  // These are messages of connect-web: those of this API begin with the name of the code.
  if (/^HTTP \d+$/.test(rawMessage)) return type === null ? rawMessage : `${rawMessage} with ${type}`;
  if (/^unsupported content type/.test(rawMessage)) return `with ${type ?? "no content type"}`;
  if (rawMessage === "") return "with an error of another form";
  if (cause instanceof SyntaxError) return "with text that is not JSON";
  return /^cannot decode /.test(rawMessage) ? "with JSON of another form" : undefined;
}

function messageOf({ rawMessage, tokenFault }: PlatformError): string {
  return tokenFault === undefined ? rawMessage : `${rawMessage}: ${tokenFault}`;
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
