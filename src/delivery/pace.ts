/**
 * How fast this process sends: 1500 deliveries a second, in turns of 12. They share the event loop with the API, whose calls wait for a turn at most,
 * however many deliveries are due. More processes send more.
 */

/** Says when the next delivery may begin. */
export interface Pace {
  /** Waits for the caller's turn; turns come in the order in which they are asked for. */
  turn(): Promise<void>;
}

const perTurn = 12;
const turnMs = 8;

/** A pace at which nothing has begun. */
export function createPace(): Pace {
  const waiting: (() => void)[] = [];
  let left = perTurn;
  let timer: NodeJS.Timeout | undefined;

  function refill(): void {
    left = perTurn;
    while (left > 0 && waiting.length > 0) {
      left--;
      waiting.shift()!();
    }
    if (waiting.length === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  return {
    async turn() {
      timer ??= setInterval(refill, turnMs);
      if (left > 0) left--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}
