/**
 * Limits the calls under way. A call that is answered at once, as a read on SQLite is, does not count: it is over before
 * another begins. A call whose deadline has passed counts until its handler ends.
 */
import type { CallInterceptor } from "../call/index.ts";
import { unavailable } from "../errors.ts";

/** The two interceptors of the limit. */
export interface CallLimit {
  /** The outermost: refuses calls as UNAVAILABLE, without a log line or an audit record. */
  readonly refuse: CallInterceptor;
  /** Within the deadline: counts calls until their handlers end. */
  readonly count: CallInterceptor;
}

/** Creates a limit of `maxCalls`, which is read for every call. `onRefusal` is called for every call that it refuses. */
export function limitCalls(maxCalls: () => number, onRefusal: () => void): CallLimit {
  let underWay = 0;
  const end = () => {
    underWay--;
  };
  return {
    refuse: (next) => (request) => {
      if (underWay < maxCalls()) return next(request);
      onRefusal();
      throw unavailable("the server is overloaded; try again");
    },
    count: (next) => (request) => {
      const response = next(request);
      if (response instanceof Promise) {
        underWay++;
        response.then(end, end);
      }
      return response;
    },
  };
}
