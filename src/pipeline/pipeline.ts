/** What happens to every call: the list of interceptors, one file each. */

import { type Authenticator, authentication, authorization, type GrantSource } from "../auth/index.ts";
import { type CallInterceptor, type CallRequest, onError, timesOf } from "../call/index.ts";
import type { Tracing } from "../tracing/index.ts";
import { auditFailures } from "./audit-failures.ts";
import { EndpointCalls, type EndpointCallsOptions } from "./endpoint-calls.ts";
import { type HideBugsOptions, hideBugs } from "./hide-bugs.ts";
import { limitCalls } from "./limit-calls.ts";
import { createRates, limitRates, type RateClass, type RateLimits } from "./limit-rates.ts";
import { type CallCounter, logCalls } from "./observers/log-calls.ts";
import { traceCalls } from "./observers/trace-calls.ts";
import { type ReceiveOptions, receive } from "./receive.ts";
import { type TransactOptions, transact } from "./transact.ts";
import { validate } from "./validate.ts";

/** What {@link createPipeline} needs. */
export interface PipelineOptions
  extends HideBugsOptions,
    TransactOptions,
    Pick<ReceiveOptions, "receiverOf">,
    Pick<EndpointCallsOptions, "writeError"> {
  /** Counts calls; absent: nothing does. */
  readonly callCounter?: CallCounter | undefined;
  readonly authenticator: Authenticator;
  readonly grants: GrantSource;
  /** Called for each identity that a token of another issuer uses. */
  onUse(identity: string): void;
  /** Read for every call. */
  readonly rateLimits: RateLimits;
  /** Called for every call that a rate limit refuses. */
  onRateLimit(rateClass: RateClass): void;
  /** Calls under way, beyond which calls are refused. Read for every call. */
  readonly maxCalls: number;
  /** Called for every call that is refused for that. */
  onOverload(): void;
  /** How long a call may take before it is logged as slow; 0: none is. */
  readonly slowCallMs: number;
  /** Names of the members of `baggage` that calls pass on. */
  readonly baggage: readonly string[];
  /** Records calls; undefined: none is. */
  readonly tracing?: Tracing | undefined;
}

/** The interceptors, outermost first. */
export interface Pipeline {
  /** Around the deadline: they see how a call ends, whatever its handler still does. */
  readonly observers: readonly CallInterceptor[];
  /**
   * `authorization` precedes `validate`, so that a stranger learns nothing from what is wrong with a request (AIP-211).
   */
  readonly interceptors: readonly CallInterceptor[];
  /** For calls that are not methods of the contract. They share the limits. */
  readonly endpointCalls: EndpointCalls;
}

/** Creates the pipeline. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const { contract, authenticator, grants, audit, onOverload, tracing } = options;
  const traced = tracing && traceCalls({ contract, tracing, databaseName: options.database.dialect });
  const accountOf = ({ header }: CallRequest) => {
    const authorization = header.get("authorization");
    return authorization === null ? undefined : authenticator.payerOf(authorization)?.account;
  };
  const limit = limitCalls(() => options.maxCalls, accountOf, onOverload);
  const rates = createRates({ limits: options.rateLimits, now: options.now, onRefusal: options.onRateLimit });
  return {
    observers: [
      limit.refuse,
      logCalls(options),
      onError(hideBugs(options), auditFailures(contract, audit)),
      ...(traced === undefined ? [] : [traced.record]),
    ],
    interceptors: [
      limit.count,
      authentication(contract, authenticator, grants),
      noteTime("authenticatedMs"),
      ...(traced === undefined ? [] : [traced.choose]),
      limitRates(contract, rates),
      authorization(contract, grants, options.onUse),
      noteTime("authorizedMs"),
      validate,
      noteTime("validatedMs"),
      receive(options),
      transact(options),
    ],
    endpointCalls: new EndpointCalls({
      ...options,
      limit,
      rates,
      get slowCallMs() {
        return options.slowCallMs;
      },
    }),
  };
}

/** Notes when a call gets here. */
function noteTime(name: "authenticatedMs" | "authorizedMs" | "validatedMs"): CallInterceptor {
  return (next) => (request) => {
    const times = timesOf(request);
    if (times !== undefined) times[name] = performance.now();
    return next(request);
  };
}
