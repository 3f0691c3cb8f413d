/**
 * A value, or a promise of one.
 *
 * On the read path, a call that never waits is answered synchronously: a promise would cost more than reading the
 * value. Use it only there; elsewhere `async` functions are simpler. `await` takes either kind.
 */
export type Awaitable<T> = T | Promise<T>;

/**
 * Calls `next` with the value, synchronously unless it is a promise. (Not named `then`: a module that exports `then`
 * is taken for a promise.) What is given besides is passed on, so that a call need not create a function of its own.
 */
export function chain<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U>;
export function chain<T, U, A, B, C, D>(
  value: Awaitable<T>,
  next: (value: T, a: A, b: B, c: C, d?: D) => Awaitable<U>,
  a: A,
  b: B,
  c: C,
  d?: D,
): Awaitable<U>;
export function chain<T, U, A, B, C, D>(
  value: Awaitable<T>,
  next: (value: T, a?: A, b?: B, c?: C, d?: D) => Awaitable<U>,
  a?: A,
  b?: B,
  c?: C,
  d?: D,
): Awaitable<U> {
  return value instanceof Promise ? value.then((value) => next(value, a, b, c, d)) : next(value, a, b, c, d);
}

/** Calls `work`, then `onValue` with its result or `onError` with what it threw or rejected with. */
export function tryChain<T, U>(
  work: () => Awaitable<T>,
  onValue: (value: T) => Awaitable<U>,
  onError: (error: unknown) => Awaitable<U>,
): Awaitable<U> {
  let value: Awaitable<T>;
  try {
    value = work();
  } catch (error) {
    return onError(error);
  }
  return value instanceof Promise ? value.then(onValue, onError) : onValue(value);
}

/** Calls `next` with both values: synchronously unless one is a promise. */
export function both<A, B, U>(a: Awaitable<A>, b: Awaitable<B>, next: (a: A, b: B) => Awaitable<U>): Awaitable<U> {
  if (a instanceof Promise || b instanceof Promise) return Promise.all([a, b]).then(([a, b]) => next(a, b));
  return next(a, b);
}
