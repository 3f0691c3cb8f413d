/** Instruments of calls: how many, how long, and which were refused. */
import type { Authenticator } from "../../auth/index.ts";
import { CallMetrics, type Metrics, seriesBy } from "../../metrics/index.ts";
import { notificationMethod } from "../../registry-sync/index.ts";
import { scimMethods } from "../../scim/index.ts";
import { stsMethods } from "../../sts/index.ts";
import type { Api } from "../api.ts";
import type { Counter } from "../counter.ts";

/** What is counted elsewhere. */
export interface CallCounts {
  readonly api: Api;
  readonly overload: { readonly refused: ReadonlyMap<string, number> };
  readonly rateLimited: Counter;
}

/** Adds them, and returns what counts calls. */
export function measureCalls(metrics: Metrics, { api, overload, rateLimited }: CallCounts): CallMetrics {
  const calls = new CallMetrics(
    api.contract.methods.map(({ method }) => method),
    [...scimMethods, ...stsMethods, notificationMethod],
  );
  calls.addTo(metrics);
  metrics.add({
    name: "platform.v1.calls",
    kind: "counter",
    description: "Calls of the v1 API that have been answered, by method.",
    read: () => seriesBy("method", api.callsOfV1),
  });
  metrics.add({
    name: "platform.overload.refusals",
    kind: "counter",
    description: "Requests that were refused because the server was overloaded, by the limit that was reached.",
    read: () => seriesBy("limit", overload.refused),
  });
  metrics.add({
    name: "platform.rate_limited",
    kind: "counter",
    description: "Requests that were refused because of a rate limit, by limit.",
    read: () => seriesBy("limit", rateLimited.counts),
  });
  return calls;
}

/** Adds the instruments of authentication. `keyFetches`: by `kind result`. */
export function measureAuthentication(
  metrics: Metrics,
  { tokenUses }: Pick<Authenticator, "tokenUses">,
  keyFetches: ReadonlyMap<string, number>,
): void {
  metrics.add({
    name: "platform.auth.tokens",
    kind: "counter",
    description: "Calls with a token, by whether the token had been verified before.",
    read: () => seriesBy("token", Object.entries(tokenUses)),
  });
  metrics.add({
    name: "platform.auth.key_fetches",
    kind: "counter",
    description:
      "Fetches of the keys of other issuers, by result, and by whether a rule names the issuer or only has a pattern.",
    read: () =>
      Array.from(keyFetches, ([key, value]) => {
        const [issuer = "", result = ""] = key.split(" ");
        return { labels: { issuer, result }, value };
      }),
  });
}
