/**
 * What a caller may do: the union of its grants. A grant applies at its scope and below. A check passes when the grants
 * at or above the scope together hold every capability. There is no policy language and no deny rule.
 */

import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { covers, outermost } from "../uid.ts";
import type { Caller } from "./caller.ts";
import type { Grant } from "./grant.ts";

/** A caller with its grants at the start of its call. */
export interface Authority {
  readonly caller: Caller;
  readonly grants: readonly Grant[];
}

/** Whether the grants hold every capability at `scope` (a uid; "" is the whole platform). */
export function holds(grants: readonly Grant[], scope: string, capabilities: Iterable<Capability>): boolean {
  for (const capability of capabilities) if (!holdsOne(grants, scope, capability)) return false;
  return true;
}

function holdsOne(grants: readonly Grant[], scope: string, capability: Capability): boolean {
  for (const grant of grants) if (grant.capabilities.has(capability) && covers(grant.scope, scope)) return true;
  return false;
}

/**
 * The outermost scopes where the grants hold every capability, in key order. [""] is the whole platform, [] is no
 * scope.
 */
export function scopesHolding(grants: readonly Grant[], capabilities: readonly Capability[]): string[] {
  return outermost(grants.flatMap(({ scope }) => (holds(grants, scope, capabilities) ? [scope] : [])));
}
