/**
 * Rate limits by address: for token exchanges, and for requests without a token that is known to be valid. They are
 * checked before a token is verified. Behind a reverse proxy that is not trusted all clients have one address.
 */
import { completeError, rateLimited, resourceExhausted } from "../../errors.ts";
import { addressOf, networkOf } from "../../http/index.ts";
import type { HttpRequest, HttpResponse } from "../../message/index.ts";
import { pathOf } from "../../rpc/index.ts";
import { TokenBuckets } from "../../token-buckets.ts";
import type { StartContext } from "./context.ts";
import { refuse } from "./overload.ts";

/** A stream of requests without a token that is known to be valid ends after so many. */
const maxStreamedRequests = 100;

/** The limits of a server. */
export interface AddressLimits {
  /** Whether a request is admitted; otherwise it has been refused. */
  admits(request: HttpRequest, response: HttpResponse): boolean;
  /**
   * What counts the messages of a request that may have several: each counts as a request. Undefined: its caller is
   * known. Errors of what counts: RESOURCE_EXHAUSTED.
   */
  watchMessages(request: HttpRequest, response: HttpResponse): (() => void) | undefined;
}

/**
 * Creates the limits. `isKnown`: whether the token of a request was verified before. `free`: paths that are not
 * limited.
 */
export function limitAddresses(
  { live, api, now, rateLimited: counts }: StartContext,
  isKnown: (request: HttpRequest) => boolean,
  free: ReadonlySet<string>,
): AddressLimits {
  const { serviceHost } = live.current;
  const rates = {
    exchange: () => live.current.rateLimitExchange,
    address: () => live.current.rateLimitAddress,
  };
  const buckets = { exchange: new TokenBuckets(rates.exchange), address: new TokenBuckets(rates.address) };

  /** Counts a request. Returns the error that refuses it; undefined if it is admitted. */
  const count = (policy: keyof typeof rates, address: string) => {
    const waitMs = buckets[policy].take(networkOf(address), now());
    if (waitMs === 0) return undefined;
    counts.report(policy);
    return rateLimited(policy, rates[policy]()!, waitMs);
  };

  return {
    admits(request, response) {
      if (isKnown(request)) return true;
      const path = pathOf(request);
      const address = addressOf(request, response);
      if (address === undefined || free.has(path)) return true;
      const error = count(path.startsWith("/sts/") ? "exchange" : "address", address);
      if (error === undefined) return true;
      refuse(request, response, completeError(error, serviceHost, undefined), api.registry);
      return false;
    },
    watchMessages(request, response) {
      if (isKnown(request)) return undefined;
      const address = addressOf(request, response);
      let messages = 0;
      return () => {
        messages++;
        if (messages === 1) return; // counted with the request
        if (messages > maxStreamedRequests)
          throw resourceExhausted(
            "stream",
            `a stream without a token that is known to be valid takes ${maxStreamedRequests} requests; open another`,
            undefined,
            { limit: String(maxStreamedRequests) },
          );
        const error = address === undefined ? undefined : count("address", address);
        if (error !== undefined) throw error;
      };
    },
  };
}
