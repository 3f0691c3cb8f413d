/**
 * Rate limits by address: for token exchanges, and for requests without a token that is known to be valid. They are
 * checked before a token is verified. Behind a reverse proxy that is not trusted all clients have one address.
 */
import type { Authenticator } from "../../auth/index.ts";
import { completeError, rateLimited } from "../../errors.ts";
import { addressOf, networkOf } from "../../http/index.ts";
import type { HttpRequest, HttpResponse } from "../../message/index.ts";
import { pathOf } from "../../rpc/index.ts";
import { TokenBuckets } from "../../token-buckets.ts";
import type { StartContext } from "./context.ts";
import { refuse } from "./overload.ts";

/** Whether a request is admitted; otherwise it has been refused. */
export type Admission = (request: HttpRequest, response: HttpResponse) => boolean;

/** Creates the check. `free`: paths that are not limited. */
export function limitAddresses(
  { live, api, now, rateLimited: counts }: StartContext,
  authenticator: Authenticator,
  free: ReadonlySet<string>,
): Admission {
  const { serviceHost } = live.current;
  const exchangeRate = () => live.current.rateLimitExchange;
  const otherRate = () => live.current.rateLimitAddress;
  const exchanges = new TokenBuckets(exchangeRate);
  const others = new TokenBuckets(otherRate);

  return (request, response) => {
    if (authenticator.isKnown(request.headers.authorization)) return true;
    const path = pathOf(request);
    const isExchange = path.startsWith("/sts/");
    const address = addressOf(request, response);
    if (address === undefined || free.has(path)) return true;
    const waitMs = (isExchange ? exchanges : others).take(networkOf(address), now());
    if (waitMs === 0) return true;
    const policy = isExchange ? "exchange" : "address";
    counts.report(policy);
    refuse(
      request,
      response,
      completeError(rateLimited(policy, (isExchange ? exchangeRate : otherRate)()!, waitMs), serviceHost, undefined),
      api.registry,
    );
    return false;
  };
}
