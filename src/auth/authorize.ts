/**
 * The interceptors before every handler. Authentication turns the bearer token into a caller. Authorization decides by
 * the uid alone, before any row of the resource is read (AIP-211), so that a caller cannot distinguish foreign from
 * missing resources.
 */

import type { Message } from "@bufbuild/protobuf";
import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  type HandlerContext,
  type UnaryRequest,
} from "@connectrpc/connect";
import type { Capability } from "../../gen/platform/capabilities/capabilities_pb.ts";
import { chain } from "../awaitable.ts";
import { type CallInterceptor, type CallRequest, timesOf } from "../call/index.ts";
import type { Contract, Scope } from "../contract/index.ts";
import { invalid, notFound, permissionDenied, unauthenticated } from "../errors.ts";
import { chargeCallAt, chargeCallIn } from "../fairness/index.ts";
import { isUid } from "../uid.ts";
import type { Authenticator } from "./authenticate.ts";
import { type Authority, holds, scopesHolding } from "./authority.ts";
import type { Caller } from "./caller.ts";
import { capabilities, capabilityList } from "./capabilities.ts";
import type { Grant, GrantSource } from "./grant.ts";
import { narrowGrants } from "./narrowing.ts";
import type { Claims } from "./tokens/token.ts";
import { placeIn, usedBy } from "./uses.ts";

const callerKey: ContextKey<Caller | undefined> = createContextKey<Caller | undefined>(undefined);
const authorityKey: ContextKey<Authority | undefined> = createContextKey<Authority | undefined>(undefined);
const earlyGrantsKey: ContextKey<EarlyGrants | undefined> = createContextKey<EarlyGrants | undefined>(undefined);
const scopesKey: ContextKey<readonly string[] | undefined> = createContextKey<readonly string[] | undefined>(undefined);

/** The grants of a caller, read while it was authenticated. */
interface EarlyGrants {
  readonly caller: Caller;
  readonly grants: Promise<readonly Grant[]>;
}

type WithValues = Pick<HandlerContext, "values">;

/** The caller. Errors: UNAUTHENTICATED in an open method that was called without a token. */
export function callerOf(context: WithValues): Caller {
  return authorityOf(context).caller;
}

/** What the caller may do. Errors: as {@link callerOf}. */
export function authorityOf(context: WithValues): Authority {
  const authority = context.values.get(authorityKey);
  if (authority === undefined) throw unauthenticated("missing bearer token");
  return authority;
}

/** The outermost scopes where the caller of an unscoped method holds its capabilities; [""] is everything. */
export function scopesOf(context: WithValues): readonly string[] {
  const scopes = context.values.get(scopesKey);
  if (scopes === undefined) throw new Error("scopes are known in unscoped methods only");
  return scopes;
}

/** The caller, for the log; undefined before authentication and in open methods. */
export function knownCallerOf(values: ContextValues): Caller | undefined {
  return values.get(callerKey);
}

/**
 * Who calls, for logs and traces, whose reader sees all organisations: the identity of the caller, if it is a single
 * one, else the subject. undefined as for {@link knownCallerOf}.
 */
export function knownCallerNameOf(values: ContextValues): string | undefined {
  const caller = values.get(callerKey);
  return caller?.identities.length === 1 ? caller.identities[0] : caller?.subject;
}

/** The caller and its grants, for records; without grants before authorization, undefined before authentication. */
export function knownAuthorityOf(values: ContextValues): Authority | undefined {
  const caller = values.get(callerKey);
  return values.get(authorityKey) ?? (caller && { caller, grants: [] });
}

/** The claims of an operator, who has no token. */
export function operatorClaims(subject: string): Claims {
  return { iss: "", sub: subject, aud: [], exp: Number.POSITIVE_INFINITY };
}

/** Authorizes an internal call: `subject` holds every capability everywhere. It has no token and no row. */
export function authorizeOperator(values: ContextValues, subject: string): void {
  const claims = operatorClaims(subject);
  const caller = { subject, key: subject, identities: [], issuer: "", claims, expireTimeMs: Number.POSITIVE_INFINITY };
  const grant = { scope: "", capabilities: new Set(capabilities.keys()), identity: subject };
  values.set(callerKey, caller);
  values.set(authorityKey, { caller, grants: [grant] });
  values.set(scopesKey, [""]);
}

/**
 * Turns the `Authorization` header into a caller. Where that waits for the database, the grants of the caller are read
 * at the same time. Errors: UNAUTHENTICATED unless the method is open.
 */
export function authentication(
  contract: Contract,
  authenticator: Pick<Authenticator, "authenticate" | "lastCaller">,
  source: GrantSource,
): CallInterceptor {
  return (next, method) => {
    const rule = contract.of(method).authorization;
    if (rule.kind === "open") return next;
    const placeOf = (message: Message) =>
      rule.kind === "scoped" ? rule.scope.uidOf(message) || undefined : placeIn(message);
    const proceed = (caller: Caller, request: CallRequest) => {
      request.contextValues.set(callerKey, caller);
      return next(request);
    };
    return (request) => {
      const header = request.header.get("authorization");
      const use = { placeOf, message: (request as UnaryRequest).message, nowMs: timesOf(request)?.nowMs };
      const authenticated = authenticator.authenticate(header, use);
      if (!(authenticated instanceof Promise)) return proceed(authenticated, request);
      const early = earlyGrants(authenticator.lastCaller(header), source);
      if (early !== undefined) request.contextValues.set(earlyGrantsKey, early);
      return authenticated.then((caller) => proceed(caller, request));
    };
  };
}

function earlyGrants(caller: Caller | undefined, source: GrantSource): EarlyGrants | undefined {
  const grants = caller && source.grantsOf(caller);
  if (caller === undefined || !(grants instanceof Promise)) return undefined;
  grants.catch(() => {}); // the caller may not be let in
  return { caller, grants };
}

/**
 * Requires that the grants of the caller allow the call. `onUse` is called with each identity that a token of another
 * issuer, or one that was exchanged for it, uses. Errors: INVALID_ARGUMENT without a uid where it is needed,
 * NOT_FOUND for an invalid uid, PERMISSION_DENIED.
 */
export function authorization(
  contract: Contract,
  source: GrantSource,
  onUse: (identity: string) => void,
): CallInterceptor {
  return (next, method) => {
    const { authorization: rule, mutates } = contract.of(method);
    if (rule.kind === "open") return next;
    const proceed = (granted: readonly Grant[], caller: Caller, uid: string | undefined, request: CallRequest) => {
      const grants = caller.narrowing === undefined ? granted : narrowGrants(granted, caller.narrowing);
      const authority = { caller, grants };
      request.contextValues.set(authorityKey, authority);
      // What a call without a scope changes is about one organisation, which is not known yet.
      if (caller.principal !== undefined && (uid !== undefined || !mutates))
        usedBy(authority, uid, rule.capabilities, (request as UnaryRequest).message).forEach(onUse);
      if (uid === undefined) {
        const scopes = scopesHolding(grants, rule.capabilities);
        request.contextValues.set(scopesKey, scopes);
        if (caller.payer !== undefined) chargeCallIn(caller.payer, scopes);
      } else {
        if (caller.payer !== undefined) chargeCallAt(caller.payer, grants, uid);
        require(grants, uid, rule.capabilities);
      }
      return next(request);
    };
    return (request) => {
      const caller = request.contextValues.get(callerKey);
      if (caller === undefined) throw new Error("authorization runs after authentication");
      if (request.stream) throw new Error("methods of the contract do not stream");
      const uid = rule.kind === "scoped" ? scopeOf(rule.scope, request.message) : undefined;
      const early = request.contextValues.get(earlyGrantsKey);
      const granted = early?.caller === caller ? early.grants : source.grantsOf(caller);
      return chain(granted, proceed, caller, uid, request);
    };
  };
}

/** Errors: PERMISSION_DENIED unless the caller holds every capability at `scope`; "" is the whole platform. */
export function requireCapabilities(context: WithValues, scope: string, ...capabilities: readonly Capability[]): void {
  require(authorityOf(context).grants, scope, capabilities);
}

function require(grants: readonly Grant[], scope: string, capabilities: readonly Capability[]): void {
  if (holds(grants, scope, capabilities)) return;
  const place = scope === "" ? "the whole platform" : JSON.stringify(scope);
  const needed = capabilityList(capabilities);
  throw permissionDenied(`${needed} needed at ${place}`, { capabilities: needed, scope });
}

function scopeOf({ field, resourceType, mayBePlatform, uidOf }: Scope, request: Message): string {
  const uid = uidOf(request);
  if (uid === "" && mayBePlatform) return "";
  if (uid === "") throw invalid({ field, description: "is required" });
  if (!isUid(uid)) throw notFound({ type: resourceType, uid });
  return uid;
}
