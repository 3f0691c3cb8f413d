/**
 * Limits the calls under way. A call that is answered at once, as a read on SQLite is, does not count: it is over
 * before another begins. A call whose deadline has passed counts until its handler ends. At the limit, those of whom
 * most calls are under way are refused.
 */
import type { CallFn, CallRequest } from "../call/index.ts";
import { unavailable } from "../errors.ts";
import { hasShare } from "../fairness/index.ts";

/** The interceptors of the limit, and the same for calls of endpoints. */
export interface CallLimit {
  /** The outermost: refuses calls as UNAVAILABLE, without a log line or an audit record. */
  readonly refuse: (next: CallFn) => CallFn;
  /** Within the deadline: counts calls until their handlers end. */
  readonly count: (next: CallFn) => CallFn;
  /** Errors: UNAVAILABLE while too many calls are under way. `accountOf`: the name of whom `call` counts against. */
  admit<C>(accountOf: (call: C) => string | undefined, call: C): void;
  /** Counts a call until its work ends. */
  during<T>(work: Promise<T>, account: string | undefined): Promise<T>;
}

/** Whom calls without a known token count against. */
const strangers = "strangers";

/**
 * Creates a limit of `maxCalls`, which is read for every call. `accountOf`: the name of whom a call counts against,
 * undefined or empty without a known token.
 * `onRefusal` is called for every call that it refuses.
 */
export function limitCalls(
  maxCalls: () => number,
  accountOf: (request: CallRequest) => string | undefined,
  onRefusal: () => void,
): CallLimit {
  let underWay = 0;
  const ofAccounts = new Map<string, number>();

  function admit<C>(accountOf: (call: C) => string | undefined, call: C): void {
    const max = maxCalls();
    if (underWay < max) return;
    if (hasShare(ofAccounts.get(accountOf(call) || strangers) ?? 0, underWay, ofAccounts.size, max)) return;
    onRefusal();
    throw unavailable("the server is overloaded; try again");
  }

  function during<T>(work: Promise<T>, of: string | undefined): Promise<T> {
    const account = of || strangers;
    underWay++;
    ofAccounts.set(account, (ofAccounts.get(account) ?? 0) + 1);
    const end = () => {
      underWay--;
      const left = ofAccounts.get(account)! - 1;
      if (left === 0) ofAccounts.delete(account);
      else ofAccounts.set(account, left);
    };
    work.then(end, end);
    return work;
  }

  return {
    admit,
    during,
    refuse: (next) => (request) => {
      admit(accountOf, request);
      return next(request);
    },
    count: (next) => (request) => {
      const response = next(request);
      return response instanceof Promise ? during(response, accountOf(request)) : response;
    },
  };
}
