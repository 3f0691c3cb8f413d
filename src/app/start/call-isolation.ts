/** How calls that change something are isolated from each other where they run at the same time. */
import type { Message } from "@bufbuild/protobuf";
import type { Awaitable } from "../../awaitable.ts";
import type { MethodContract } from "../../contract/index.ts";
import { lockAccess } from "../../services/index.ts";
import type { WriteSession } from "../../store/index.ts";
import { isUid } from "../../uid.ts";

/** Whether a call is serializable: an advisory is merged from all documents about it, which others may be adding. */
export function isSerializable({ domain }: MethodContract): boolean {
  return domain === "vulnerabilities";
}

/** Locks what a call relies on besides the rows that its handler holds, changes or removes. */
export function lockForCall(
  session: WriteSession,
  { domain, authorization, standard, event }: MethodContract,
  request: Message,
): Awaitable<void> {
  if (domain !== "iam" || authorization.kind !== "scoped") return;
  const isGroup = event?.path === "/iam/v2/groups";
  if (isGroup && standard?.verb !== "Delete") return; // it holds its parent
  const uid = authorization.scope.uidOf(request);
  return isUid(uid) ? lockAccess(session, uid) : undefined;
}
