/**
 * Limits the calls under way. A call that is answered at once, as a read on SQLite is, does not count: it is over before
 * another begins. A call whose deadline has passed counts until its handler ends. At the limit, those of whom most calls
 * are under way are refused.
 */
import type { CallInterceptor, CallRequest } from "../call/index.ts";
import { unavailable } from "../errors.ts";
import { hasShare } from "../fairness/index.ts";

/** The two interceptors of the limit. */
export interface CallLimit {
  /** The outermost: refuses calls as UNAVAILABLE, without a log line or an audit record. */
  readonly refuse: CallInterceptor;
  /** Within the deadline: counts calls until their handlers end. */
  readonly count: CallInterceptor;
}

/**
 * Creates a limit of `maxCalls`, which is read for every call. `accountOf`: the name of whom a call counts against.
 * `onRefusal` is called for every call that it refuses.
 */
export function limitCalls(
  maxCalls: () => number,
  accountOf: (request: CallRequest) => string,
  onRefusal: () => void,
): CallLimit {
  let underWay = 0;
  const ofAccounts = new Map<string, number>();

  function begin(account: string): () => void {
    underWay++;
    ofAccounts.set(account, (ofAccounts.get(account) ?? 0) + 1);
    return () => {
      underWay--;
      const left = ofAccounts.get(account)! - 1;
      if (left === 0) ofAccounts.delete(account);
      else ofAccounts.set(account, left);
    };
  }

  return {
    refuse: (next) => (request) => {
      const max = maxCalls();
      const isAllowed =
        underWay < max || hasShare(ofAccounts.get(accountOf(request)) ?? 0, underWay, ofAccounts.size, max);
      if (isAllowed) return next(request);
      onRefusal();
      throw unavailable("the server is overloaded; try again");
    },
    count: (next) => (request) => {
      const response = next(request);
      if (response instanceof Promise) {
        const end = begin(accountOf(request));
        response.then(end, end);
      }
      return response;
    },
  };
}
