/** Whom the work of requests counts against. See `http/turns.ts`. */
import type { Authenticator } from "../../auth/index.ts";
import { createPayer, type Payer as KnownPayer, type Pause } from "../../fairness/index.ts";
import { networkOf, type Payer, type PayerSource } from "../../http/index.ts";
import { LruMap } from "../../lru-map.ts";
import type { HttpRequest } from "../../message/index.ts";
import { type ScimPayers, scimPath } from "../../scim/index.ts";
import { rootOf } from "../../uid.ts";

/** The payers of a server. */
export interface RequestPayers {
  /** The organisation or the caller of a known token, else the network of the address. */
  readonly payerOf: PayerSource;
  /** Whether the token of a request was verified before, and is one for its path. */
  isKnown(request: HttpRequest): boolean;
  /** Those of requests with tokens of identity providers, which are not the authenticator's. */
  readonly ofProviders: ScimPayers;
}

const maxNetworks = 10_000;
const maxProviders = 1000;

/** Creates the payers of a server. */
export function createPayers(authenticator: Pick<Authenticator, "payerOf" | "isKnown">, pause: Pause): RequestPayers {
  const networks = new LruMap<string, Payer>(maxNetworks);
  const ofProviders = new LruMap<string, KnownPayer>(maxProviders);

  function strangerAt(network: string): Payer {
    let payer = networks.get(network);
    if (payer === undefined) {
      payer = { account: `address ${network}`, caller: "" };
      networks.set(network, payer);
    }
    return payer;
  }

  return {
    payerOf(authorization, address) {
      const known = authorization && (authenticator.payerOf(authorization) ?? ofProviders.get(authorization));
      return known || strangerAt(address === undefined ? "" : networkOf(address));
    },
    isKnown: ({ url, headers: { authorization } }) =>
      url?.startsWith(`${scimPath}/`) === true
        ? authorization !== undefined && ofProviders.get(authorization) !== undefined
        : authenticator.isKnown(authorization),
    ofProviders: {
      learn(authorization, provider) {
        const known = ofProviders.get(authorization);
        if (provider === known?.caller) return;
        if (known !== undefined) known.account = ""; // connections remember it
        if (provider === undefined) ofProviders.delete(authorization);
        else {
          const payer = createPayer(provider, pause);
          payer.account = rootOf(provider);
          ofProviders.set(authorization, payer);
        }
      },
      payerOf: (authorization) => (authorization === undefined ? undefined : ofProviders.get(authorization)),
    },
  };
}
