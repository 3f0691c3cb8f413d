/** Whom the work of requests counts against. See `http/turns.ts`. */
import type { Authenticator } from "../../auth/index.ts";
import { networkOf, type Payer, type PayerSource } from "../../http/index.ts";
import { LruMap } from "../../lru-map.ts";

/** The payers of a server. */
export interface RequestPayers {
  /** The organisation or the caller of a known token, else the network of the address. */
  readonly payerOf: PayerSource;
  /** Requests with a header, whose token is not the authenticator's, count against `account`; undefined: no more. */
  learn(authorization: string, account: string | undefined): void;
}

const maxNetworks = 10_000;
const maxOthers = 1000;

/** Creates the payers of a server. */
export function createPayers(authenticator: Pick<Authenticator, "payerOf">): RequestPayers {
  const networks = new LruMap<string, Payer>(maxNetworks);
  const others = new LruMap<string, { account: string; readonly caller: string; readonly isKnown: true }>(maxOthers);

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
      const known = authorization && (authenticator.payerOf(authorization) ?? others.get(authorization));
      return known || strangerAt(address === undefined ? "" : networkOf(address));
    },
    learn(authorization, account) {
      const known = others.get(authorization);
      if (account !== undefined && known?.account !== account)
        others.set(authorization, { account, caller: "", isKnown: true });
      if (account === undefined && known !== undefined) {
        known.account = ""; // connections remember it
        others.delete(authorization);
      }
    },
  };
}
