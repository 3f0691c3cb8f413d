/** The audit records of calls. */
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryRequest } from "@connectrpc/connect";
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import type { Audit } from "../audit/index.ts";
import { type AuditRecord, emptyRecord } from "../audit/index.ts";
import { actorAt, knownAuthorityOf, knownCallerOf } from "../auth/index.ts";
import { clientAddressOf, type ErrorHandler } from "../call/index.ts";
import { localOf } from "../codec/index.ts";
import type { Contract, MethodContract } from "../contract/index.ts";
import { isRateLimited, reasonOf } from "../errors.ts";
import { isUid } from "../uid.ts";
import { nameOf } from "./method-name.ts";

/** Reports denied calls, and mutations that fail; not those that a rate limit refuses, which may be very many. */
export function auditFailures(contract: Contract, audit: Audit): ErrorHandler {
  return (error, request) => {
    const code = error instanceof ConnectError ? error.code : Code.Internal;
    const call = request as UnaryRequest;
    const { validateOnly } = call.message as Message & { validateOnly?: boolean };
    const isMutation = contract.of(call.method).mutates && validateOnly !== true;
    if ((isMutation && !isRateLimited(error)) || isDenial(code))
      audit.report({ ...recordOf(contract, call), code: reasonOf(code) }, knownCallerOf(call.contextValues)?.key);
    return error;
  };
}

/** Whether a code means that the caller may not do what it tried. */
export function isDenial(code: Code): boolean {
  return code === Code.Unauthenticated || code === Code.PermissionDenied;
}

/** The record of a call. `answer`: its response, if it succeeded. */
export function recordOf(contract: Contract, call: UnaryRequest, answer?: Message): AuditRecord {
  const { method, message, header, contextValues } = call;
  const { authorization, standard, mutates, isIdempotent } = contract.of(method);
  const authority = knownAuthorityOf(contextValues);
  const target =
    authorization.kind === "scoped"
      ? authorization.scope.uidOf(message)
      : textOf(message, "parent", "uid") || firstUid(message);
  const scope = isUid(target) ? target : "";
  const hasTarget = mutates && isIdempotent && standard?.verb.startsWith("Batch") !== true;
  const resource = hasTarget ? scope : answer === undefined ? "" : textOf(answer, "uid", "id");
  return {
    ...emptyRecord,
    ...(authority !== undefined && {
      caller: actorAt(authority, scope || resource, neededBy(authorization)),
      issuer: authority.caller.issuer,
    }),
    method: nameOf(method),
    scope,
    resource,
    code: "OK",
    requestId: header.get("x-request-id") ?? "",
    address: clientAddressOf(contextValues),
    userAgent: header.get("user-agent") ?? "",
    count: 1,
  };
}

/** The first of the uids that a request of a batch names. */
function firstUid(message: Message): string {
  const { uids: [uid = ""] = [] } = message as Message & { uids?: readonly string[] };
  return uid;
}

/** The capabilities that a method needs. */
export function neededBy(authorization: MethodContract["authorization"]): readonly Capability[] {
  return authorization.kind === "open" ? [] : authorization.capabilities;
}

/** The first of these fields that is a string and not empty; "" if none is. */
export function textOf(message: Message, ...names: readonly string[]): string {
  const fields = localOf(message);
  const values = names.map((name) => fields[name]);
  return values.find((value): value is string => typeof value === "string" && value !== "") ?? "";
}
