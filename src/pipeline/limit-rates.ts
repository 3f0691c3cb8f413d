/** Limits how often a caller may make calls, by what they do. A method of v1 counts once, whatever carries it out. */
import { knownCallerOf } from "../auth/index.ts";
import type { CallInterceptor } from "../call/index.ts";
import type { Contract, MethodContract } from "../contract/index.ts";
import { rateLimited } from "../errors.ts";
import { type Rate, TokenBuckets } from "../token-buckets.ts";

/** What calls do. */
export type RateClass = "read" | "list" | "write";

/** The limits; undefined for none. */
export type RateLimits = Readonly<Record<RateClass, Rate | undefined>>;

/** What {@link limitRates} needs. */
export interface RateLimitOptions {
  readonly contract: Contract;
  /** Read for every call. */
  readonly limits: RateLimits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Called for every call that is refused. */
  onRefusal(rateClass: RateClass): void;
}

/** Refuses calls as RESOURCE_EXHAUSTED when their caller has made too many. It stands after authentication. */
export function limitRates({ contract, limits, now, onRefusal }: RateLimitOptions): CallInterceptor {
  const buckets: Readonly<Record<RateClass, TokenBuckets>> = {
    read: new TokenBuckets(() => limits.read),
    list: new TokenBuckets(() => limits.list),
    write: new TokenBuckets(() => limits.write),
  };
  return (next) => (request) => {
    const caller = knownCallerOf(request.contextValues);
    if (caller === undefined) return next(request); // the limits of addresses hold
    const rateClass = classOf(contract.of(request.method));
    const waitMs = buckets[rateClass].take(caller.key, now());
    if (waitMs === 0) return next(request);
    onRefusal(rateClass);
    throw rateLimited(rateClass, limits[rateClass]!, waitMs);
  };
}

function classOf({ mutates, standard, method }: MethodContract): RateClass {
  if (mutates) return "write";
  return standard?.verb === "List" || method.name.startsWith("List") ? "list" : "read";
}
