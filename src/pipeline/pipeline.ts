/** What happens to every call: the list of interceptors, one file each. */

import { type Authenticator, authentication, authorization, type GrantSource } from "../auth/index.ts";
import type { CallInterceptor } from "../call/index.ts";
import { auditFailures } from "./audit-failures.ts";
import { type HideBugsOptions, hideBugs } from "./hide-bugs.ts";
import { limitCalls } from "./limit-calls.ts";
import { limitRates, type RateClass, type RateLimits } from "./limit-rates.ts";
import { logCalls } from "./log-calls.ts";
import { type TransactOptions, transact } from "./transact.ts";
import { validate } from "./validate.ts";

/** What {@link createPipeline} needs. */
export interface PipelineOptions extends HideBugsOptions, TransactOptions {
  readonly authenticator: Authenticator;
  readonly grants: GrantSource;
  readonly rateLimits: RateLimits;
  /** Called for every call that a rate limit refuses. */
  onRateLimit(rateClass: RateClass): void;
  /** Calls under way, beyond which calls are refused. */
  readonly maxCalls: number;
  /** Called for every call that is refused for that. */
  onOverload(): void;
}

/** The interceptors, outermost first. */
export interface Pipeline {
  /** Around the deadline: they see how a call ends, whatever its handler still does. */
  readonly observers: readonly CallInterceptor[];
  /**
   * `authorization` precedes `validate`, so that a stranger learns nothing from what is wrong with a request (AIP-211).
   */
  readonly interceptors: readonly CallInterceptor[];
}

/** Creates the pipeline. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { contract, authenticator, grants, audit, log, maxCalls, onOverload } = options;
  const limit = limitCalls(maxCalls, onOverload);
  return {
    observers: [limit.refuse, logCalls(log), auditFailures(contract, audit), hideBugs(options)],
    interceptors: [
      limit.count,
      authentication(contract, authenticator, grants),
      limitRates({ contract, limits: options.rateLimits, now: options.now, onRefusal: options.onRateLimit }),
      authorization(contract, grants),
      validate,
      transact(options),
    ],
  };
}
