/**
 * The two layers that stand before every handler. Authentication turns the bearer token into a caller; authorization decides from the
 * uid alone, before any row of the resource is read (AIP-211), so that foreign and missing resources cannot be told apart.
 */
import type { Message } from "@bufbuild/protobuf";
import { type ContextKey, type ContextValues, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import type { Contract, Scope } from "../contract/index.ts";
import { invalid, notFound, permissionDenied, unauthenticated } from "../errors.ts";
import { andThen, type Eventually } from "../eventually.ts";
import type { Layer } from "../layer.ts";
import { isUid } from "../uid.ts";
import type { Caller } from "./authenticate.ts";
import { type Authority, type Grant, type GrantSource, holds, scopesHolding } from "./authority.ts";
import { capabilities, capabilityList } from "./capabilities.ts";
import { narrowGrants } from "./narrowing.ts";

const callerKey: ContextKey<Caller | undefined> = createContextKey<Caller | undefined>(undefined);
const authorityKey: ContextKey<Authority | undefined> = createContextKey<Authority | undefined>(undefined);
const scopesKey: ContextKey<readonly string[] | undefined> = createContextKey<readonly string[] | undefined>(undefined);

type WithValues = Pick<HandlerContext, "values">;

/** Who calls. Errors: UNAUTHENTICATED in a method that is open and was called without a token. */
export function callerOf(context: WithValues): Caller {
  return authorityOf(context).caller;
}

/** What the caller may do. Errors: as {@link callerOf}. */
export function authorityOf(context: WithValues): Authority {
  const authority = context.values.get(authorityKey);
  if (authority === undefined) throw unauthenticated("missing bearer token");
  return authority;
}

/** In an unscoped method: the outermost scopes where the caller holds what the method needs; [""] is everything. */
export function scopesOf(context: WithValues): readonly string[] {
  const scopes = context.values.get(scopesKey);
  if (scopes === undefined) throw new Error("scopes are known in unscoped methods only");
  return scopes;
}

/** Who calls, for a log; undefined before authentication and in open methods. */
export function knownCallerOf(values: ContextValues): Caller | undefined {
  return values.get(callerKey);
}

/** Lets a call of this program's own through: `subject` holds every capability, everywhere. It has no token and no row. */
export function authorizeOperator(values: ContextValues, subject: string): void {
  const claims = { iss: "", sub: subject, aud: [], exp: Number.POSITIVE_INFINITY };
  const caller = { subject, identities: [], issuer: "", claims, expireTimeMs: Number.POSITIVE_INFINITY };
  values.set(callerKey, caller);
  values.set(authorityKey, { caller, grants: [{ scope: "", capabilities: new Set(capabilities.keys()) }] });
  values.set(scopesKey, [""]);
}

/** Turns the `Authorization` header into a caller. Errors: UNAUTHENTICATED, unless the method is open. */
export function authentication(
  contract: Contract,
  authenticate: (authorization: string | null) => Eventually<Caller>,
): Layer {
  return (next) => (request) => {
    if (contract.of(request.method).authorization.kind === "open") return next(request);
    return andThen(authenticate(request.header.get("authorization")), (caller) => {
      request.contextValues.set(callerKey, caller);
      return next(request);
    });
  };
}

/** Lets a call through when its caller's grants allow it. Errors: INVALID_ARGUMENT without a uid, NOT_FOUND for no uid, PERMISSION_DENIED. */
export function authorization(contract: Contract, source: GrantSource): Layer {
  return (next) => (request) => {
    const rule = contract.of(request.method).authorization;
    if (rule.kind === "open") return next(request);
    const caller = request.contextValues.get(callerKey);
    if (caller === undefined) throw new Error("authorization runs after authentication");
    if (request.stream) throw new Error("methods of the contract do not stream");
    const uid = rule.kind === "scoped" ? scopeOf(rule.scope, request.message) : undefined;
    return andThen(source.grantsOf(caller), (granted) => {
      const grants = caller.narrowing === undefined ? granted : narrowGrants(granted, caller.narrowing);
      request.contextValues.set(authorityKey, { caller, grants });
      if (uid === undefined) {
        request.contextValues.set(scopesKey, scopesHolding(grants, rule.capabilities));
      } else {
        require(grants, uid, rule.capabilities);
      }
      return next(request);
    });
  };
}

/** Errors: PERMISSION_DENIED unless the caller holds every capability at `scope`; "" is the whole platform. */
export function requireCapabilities(context: WithValues, scope: string, ...capabilities: readonly Capability[]): void {
  require(authorityOf(context).grants, scope, capabilities);
}

function require(grants: readonly Grant[], scope: string, capabilities: readonly Capability[]): void {
  if (holds(grants, scope, capabilities)) return;
  const place = scope === "" ? "the whole platform" : JSON.stringify(scope);
  throw permissionDenied(`${capabilityList(capabilities)} needed at ${place}`);
}

function scopeOf({ field, resourceType, uidOf }: Scope, request: Message): string {
  const uid = uidOf(request);
  if (uid === "") throw invalid({ field, description: "is required" });
  if (!isUid(uid)) throw notFound({ type: resourceType, uid });
  return uid;
}
