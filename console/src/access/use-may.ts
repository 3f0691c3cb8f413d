import { isUid } from "../../../src/uid.ts";
import { useMethod } from "../contract.ts";
import { useCall } from "../queries.ts";
import { useSession } from "../session/session.tsx";

/**
 * Whether the caller has a capability at a scope; undefined while it is read, true where only a call can show it. A
 * page that asks before it calls leaves no denied calls in the audit log.
 */
export function useMay(capability: string, scope: string): boolean | undefined {
  const { claims } = useSession();
  const identity = String(claims.sub);
  const isKnown = isUid(identity);
  const explain = useMethod("platform.access.v1.AccessService", "explain");
  const { data, error } = useCall(explain, { scope, identity, capability }, isKnown);
  if (!isKnown || error !== null) return true;
  return data && data.verdict !== "VERDICT_DENIED";
}
