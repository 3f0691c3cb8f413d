/**
 * Rate limits by address: for token exchanges, and for requests without a token that is known to be valid. They are
 * checked before a token is verified. Behind a reverse proxy all clients have one address.
 */
import { isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import type { Authenticator } from "../../auth/index.ts";
import { completeError, rateLimited } from "../../errors.ts";
import { addressOf, type HttpRequest, type HttpResponse } from "../../http/index.ts";
import { pathOf } from "../../rpc/index.ts";
import { TokenBuckets } from "../../token-buckets.ts";
import type { StartContext } from "./context.ts";
import { refuse } from "./overload.ts";

/** Whether a request is admitted; otherwise it has been refused. */
export type Admission = (request: HttpRequest, response: HttpResponse) => boolean;

/** Creates the check. `free`: paths that are not limited. */
export function limitAddresses(
  { config, api, now, rateLimited: counts }: StartContext,
  authenticator: Authenticator,
  free: ReadonlySet<string>,
): Admission {
  const { rateLimitExchange, rateLimitAddress, serviceHost } = config;
  const exchanges = rateLimitExchange && new TokenBuckets(rateLimitExchange);
  const others = rateLimitAddress && new TokenBuckets(rateLimitAddress);

  return (request, response) => {
    if (authenticator.isKnown(request.headers.authorization)) return true;
    const path = pathOf(request);
    const isExchange = path.startsWith("/sts/");
    const buckets = isExchange ? exchanges : others;
    const address = addressOf(request, response);
    if (buckets === undefined || address === undefined || free.has(path)) return true;
    const waitMs = buckets.take(networkOf(address), now());
    if (waitMs === 0) return true;
    const policy = isExchange ? "exchange" : "address";
    counts.report(policy);
    refuse(
      request,
      response,
      completeError(rateLimited(policy, buckets.rate, waitMs), serviceHost, undefined),
      api.registry,
    );
    return false;
  };
}

/** An IPv4 address, or the first 64 bits of an IPv6 address, which one client may have for itself. */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.parse(address.replace(/%.*$/, "")) as ipaddr.IPv6;
  return parsed.isIPv4MappedAddress()
    ? parsed.toIPv4Address().toString()
    : parsed.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(":");
}
