/** Grants: what identities may do, and where. */
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import type { Awaitable } from "../awaitable.ts";
import type { Caller } from "./caller.ts";

/** Capabilities at a group and everything below it. */
export interface Grant {
  /** uid of the group; "" is the whole platform. */
  readonly scope: string;
  readonly capabilities: ReadonlySet<Capability>;
  /** uid of the identity that has it. */
  readonly identity: string;
}

/** Reads grants on every call, so that a new binding takes effect on the next call and a deleted one ends with it. */
export interface GrantSource {
  grantsOf(caller: Caller): Awaitable<readonly Grant[]>;
}
