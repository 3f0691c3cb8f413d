/**
 * The identity that a call binds or records. It belongs to the organisation that the call is about, or to none: the
 * user who signs in, or an administrator.
 */
import type { HandlerContext } from "@connectrpc/connect";
import { callerOf } from "../../auth/index.ts";
import { failedPrecondition } from "../../errors.ts";
import { covers, parentOf } from "../../uid.ts";

type Context = Pick<HandlerContext, "values">;

/**
 * The identity of the caller that may be bound in a group: the oldest one that lives in the group or above it, else the
 * one at the root. Errors: FAILED_PRECONDITION if there is none.
 */
export function actingIdentity(group: string, context: Context): string {
  const uid = bindableIn(group, context);
  if (uid !== undefined) return uid;
  throw failedPrecondition({
    type: "IDENTITY_NEEDED",
    description:
      "the token stands for no identity that can be bound here; exchange it with `identity` for one that can",
  });
}

/** Whether the caller has an identity that may be bound in a group. */
export function isBindable(group: string, context: Context): boolean {
  return bindableIn(group, context) !== undefined;
}

/** The user or the administrator that the caller is; undefined for a caller that is none. */
export function rootIdentityOf(context: Context): string | undefined {
  return callerOf(context).identities.find((identity) => parentOf(identity) === "");
}

function bindableIn(group: string, context: Context): string | undefined {
  return callerOf(context).identities.find((identity) => covers(parentOf(identity), group));
}
