/**
 * Rate limits by address: for token exchanges, and for requests without a token that is known to be valid. They are
 * checked before a token is verified. Behind a reverse proxy all clients have one address.
 */
import { isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import { completeError, rateLimited } from "../../errors.ts";
import { addressOf } from "../../http/index.ts";
import type { HttpRequest, HttpResponse } from "../../message/index.ts";
import { pathOf } from "../../rpc/index.ts";
import { TokenBuckets } from "../../token-buckets.ts";
import type { StartContext } from "./context.ts";
import { refuse } from "./overload.ts";

/** Whether a request is admitted; otherwise it has been refused. */
export type Admission = (request: HttpRequest, response: HttpResponse) => boolean;

/** Creates the check. `isKnown`: whether a header has a token that was verified before. `free`: paths without limit. */
export function limitAddresses(
  { live, api, now, rateLimited: counts }: StartContext,
  isKnown: (authorization: string | undefined) => boolean,
  free: ReadonlySet<string>,
): Admission {
  const { serviceHost } = live.current;
  const exchangeRate = () => live.current.rateLimitExchange;
  const otherRate = () => live.current.rateLimitAddress;
  const exchanges = new TokenBuckets(exchangeRate);
  const others = new TokenBuckets(otherRate);

  return (request, response) => {
    if (isKnown(request.headers.authorization)) return true;
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
