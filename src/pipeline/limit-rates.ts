/** Limits how often a caller may make calls, by what they do. A method of v1 counts once, whatever carries it out. */
import { knownCallerOf } from "../auth/index.ts";
import { type CallInterceptor, timesOf } from "../call/index.ts";
import type { Contract, MethodContract } from "../contract/index.ts";
import { rateLimited } from "../errors.ts";
import { type Rate, TokenBuckets } from "../token-buckets.ts";

/** What calls do. */
export type RateClass = "read" | "list" | "write";

/** The limits; undefined for none. */
export type RateLimits = Readonly<Record<RateClass, Rate | undefined>>;

/** What {@link createRates} needs. */
export interface RateLimitOptions {
  /** Read for every call. */
  readonly limits: RateLimits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called for every call that is refused. */
  onRefusal(rateClass: RateClass): void;
}

/** Counts calls by caller. */
export interface Rates {
  /** Counts a call, made now unless at `nowMs`. Errors: RESOURCE_EXHAUSTED when its caller has made too many. */
  take(rateClass: RateClass, caller: string, nowMs?: number): void;
}

/** Creates the limits. */
export function createRates({ limits, now, onRefusal }: RateLimitOptions): Rates {
  const buckets: Readonly<Record<RateClass, TokenBuckets>> = {
    read: new TokenBuckets(() => limits.read),
    list: new TokenBuckets(() => limits.list),
    write: new TokenBuckets(() => limits.write),
  };
  return {
    take(rateClass, caller, nowMs = now()) {
      const waitMs = buckets[rateClass].take(caller, nowMs);
      if (waitMs === 0) return;
      onRefusal(rateClass);
      throw rateLimited(rateClass, limits[rateClass]!, waitMs);
    },
  };
}

/** Refuses calls when their caller has made too many. It stands after authentication. */
export function limitRates(contract: Contract, rates: Rates): CallInterceptor {
  return (next, method) => {
    const rateClass = classOf(contract.of(method));
    return (request) => {
      const caller = knownCallerOf(request.contextValues);
      // Without a caller, the limits of addresses hold.
      if (caller !== undefined) rates.take(rateClass, caller.key, timesOf(request)?.nowMs);
      return next(request);
    };
  };
}

function classOf({ mutates, standard, method }: MethodContract): RateClass {
  if (mutates) return "write";
  return standard?.verb === "List" || method.name.startsWith("List") ? "list" : "read";
}
