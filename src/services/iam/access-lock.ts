/**
 * Changes of who has access happen one after another in an organisation, because their rules are about several rows: a
 * role is not removed while it is bound, an invite is accepted once.
 */
import type { Awaitable } from "../../awaitable.ts";
import type { WriteSession } from "../../store/index.ts";
import { rootOf } from "../../uid.ts";
import { groups } from "./groups.ts";

/** Waits for other changes of access in the organisation of `uid`, and makes others wait. */
export function lockAccess(session: WriteSession, uid: string): Awaitable<void> {
  return session.lock(groups.table, rootOf(uid));
}
