/**
 * Which identities a call uses, for the times of their last uses. A call about an organisation uses the identity that
 * acts there, and none of another organisation, which must not learn of it.
 */
import type { Message } from "@bufbuild/protobuf";
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { matchingAt } from "./actor.ts";
import type { Authority } from "./authority.ts";

/** The members of requests that name a place in a method without a scope. */
interface Placed {
  readonly parent?: unknown;
  readonly uids?: readonly unknown[];
  readonly group?: unknown;
  readonly identityProviderUid?: unknown;
  readonly uidp?: Readonly<Record<string, unknown>>;
}

/** The identities that a call uses. `scope`: the uid that it is authorized at; undefined in a method without one. */
export function usedBy(
  authority: Authority,
  scope: string | undefined,
  capabilities: readonly Capability[],
  request: Message,
): readonly string[] {
  const place = scope ?? placeIn(request);
  if (place !== undefined) return [matchingAt(authority, place, capabilities) ?? []].flat();
  const { caller, grants } = authority;
  return caller.identities.filter((uid) =>
    grants.some(
      ({ identity, capabilities: held }) =>
        identity === uid && capabilities.every((capability) => held.has(capability)),
    ),
  );
}

/** The uid that a request of a method without a scope is about; undefined if it names none. */
export function placeIn(request: Message): string | undefined {
  const { parent, uids = [], group, identityProviderUid, uidp = {} } = request as Placed;
  const { descendantsOf, childrenOf, ancestorsOf, inRoot } = uidp;
  return [parent, uids[0], group, identityProviderUid, descendantsOf, childrenOf, ancestorsOf, inRoot].find(
    (uid): uid is string => typeof uid === "string" && uid !== "",
  );
}
