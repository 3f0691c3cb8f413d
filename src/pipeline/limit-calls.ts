/**
 * Limits the calls under way. A call that is answered at once, as a read on SQLite is, does not count: it is over before
 * another begins. A call whose deadline has passed counts until its handler ends.
 */
import type { CallInterceptor } from "../call/index.ts";
import { unavailable } from "../errors.ts";

/** The interceptors of the limit, and the same for calls of endpoints. */
export interface CallLimit {
  /** The outermost: refuses calls as UNAVAILABLE, without a log line or an audit record. */
  readonly refuse: CallInterceptor;
  /** Within the deadline: counts calls until their handlers end. */
  readonly count: CallInterceptor;
  /** Errors: UNAVAILABLE while there are too many calls. */
  admit(): void;
  /** Counts a call until its work ends. */
  during<T>(work: Promise<T>): Promise<T>;
}

/** Creates a limit of `maxCalls`, which is read for every call. `onRefusal` is called for every call that it refuses. */
export function limitCalls(maxCalls: () => number, onRefusal: () => void): CallLimit {
  let underWay = 0;
  const end = () => {
    underWay--;
  };
  const admit = () => {
    if (underWay < maxCalls()) return;
    onRefusal();
    throw unavailable("the server is overloaded; try again");
  };
  const during = <T>(work: Promise<T>): Promise<T> => {
    underWay++;
    work.then(end, end);
    return work;
  };
  return {
    admit,
    during,
    refuse: (next) => (request) => {
      admit();
      return next(request);
    },
    count: (next) => (request) => {
      const response = next(request);
      return response instanceof Promise ? during(response) : response;
    },
  };
}
