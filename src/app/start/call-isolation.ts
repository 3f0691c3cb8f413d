/** How calls that change something are isolated from each other where they run at the same time. */
import type { Message } from "@bufbuild/protobuf";
import type { Awaitable } from "../../awaitable.ts";
import type { MethodContract } from "../../contract/index.ts";
import { lockAccess } from "../../services/index.ts";
import type { WriteSession } from "../../store/index.ts";
import { isUid, rootOf } from "../../uid.ts";

/** Whether a call is serializable: an advisory is merged from all documents about it, which others may be adding. */
export function isSerializable({ domain }: MethodContract): boolean {
  return domain === "vulnerabilities";
}

/**
 * The organisation of a call that does nothing but create: such calls may be committed together. Undefined for other
 * calls.
 */
export function commitsWith(method: MethodContract, request: Message): string | undefined {
  const { authorization, standard } = method;
  if (standard?.verb !== "Create" || authorization.kind !== "scoped" || isSerializable(method)) return undefined;
  if (locksAccess(method) || (request as Message & { validateOnly?: boolean }).validateOnly) return undefined;
  const uid = authorization.scope.uidOf(request);
  return isUid(uid) ? rootOf(uid) : undefined;
}

/** Locks what a call relies on besides the rows that its handler holds, changes or removes. */
export function lockForCall(session: WriteSession, method: MethodContract, request: Message): Awaitable<void> {
  const { authorization } = method;
  if (authorization.kind !== "scoped" || !locksAccess(method)) return;
  const uid = authorization.scope.uidOf(request);
  return isUid(uid) ? lockAccess(session, uid) : undefined;
}

/** Whether a call changes who has access. One that creates or changes a group holds its parent. */
function locksAccess({ domain, standard, event }: MethodContract): boolean {
  return domain === "iam" && (event?.path !== "/iam/v2/groups" || standard?.verb === "Delete");
}
