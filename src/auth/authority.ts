/**
 * What a caller may do: the union of its grants. A grant holds at its scope and everything below. The check is "the grants at or above the
 * scope hold, together, every capability"; there is no policy language and nothing that denies.
 */
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import type { Eventually } from "../eventually.ts";
import { covers, outermost } from "../uid.ts";
import type { Caller } from "./authenticate.ts";

/** Capabilities held at a group and all below it. */
export interface Grant {
  /** Uid of the group; "" is the whole platform. */
  readonly scope: string;
  readonly capabilities: ReadonlySet<Capability>;
}

/** Where grants come from; read for every call, so that a binding counts from the next call on and a deleted one no longer. */
export interface GrantSource {
  grantsOf(caller: Caller): Eventually<readonly Grant[]>;
}

/** A caller together with its grants as they were when its call began. */
export interface Authority {
  readonly caller: Caller;
  readonly grants: readonly Grant[];
}

/** Whether the grants hold every capability at `scope` (a uid; "" is the whole platform). */
export function holds(grants: readonly Grant[], scope: string, capabilities: Iterable<Capability>): boolean {
  const above = grants.filter((grant) => covers(grant.scope, scope));
  for (const capability of capabilities) {
    if (!above.some((grant) => grant.capabilities.has(capability))) return false;
  }
  return true;
}

/** The outermost scopes where the grants hold every capability, in key order; [""] is the whole platform, [] nowhere. */
export function scopesHolding(grants: readonly Grant[], capabilities: readonly Capability[]): string[] {
  return outermost(grants.flatMap(({ scope }) => (holds(grants, scope, capabilities) ? [scope] : [])));
}
