/**
 * Values that may be there at once. What is remembered, or read from a file without waiting, goes through a call without a promise, which would
 * cost more than the value: a call that never has to wait is answered where it arrived. `await` takes either kind.
 */
export type Eventually<T> = T | Promise<T>;

/** Goes on with a value: now if it is there. (Not `then`: a module that exports one is taken for a promise.) */
export function andThen<T, U>(value: Eventually<T>, next: (value: T) => Eventually<U>): Eventually<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Does work and goes on with how it ends, thrown or rejected alike. */
export function settle<T, U>(
  work: () => Eventually<T>,
  onValue: (value: T) => Eventually<U>,
  onError: (error: unknown) => Eventually<U>,
): Eventually<U> {
  let value: Eventually<T>;
  try {
    value = work();
  } catch (error) {
    return onError(error);
  }
  return value instanceof Promise ? value.then(onValue, onError) : onValue(value);
}

/** Goes on with two values. */
export function both<A, B, U>(a: Eventually<A>, b: Eventually<B>, next: (a: A, b: B) => Eventually<U>): Eventually<U> {
  if (a instanceof Promise || b instanceof Promise) return Promise.all([a, b]).then(([a, b]) => next(a, b));
  return next(a, b);
}
