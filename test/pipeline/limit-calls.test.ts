import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { CallFn } from "../../src/call/interceptor.ts";
import { limitCalls } from "../../src/pipeline/limit-calls.ts";

test("calls beyond the limit are refused until others end, well or not; those answered at once do not count", async () => {
  let refusals = 0;
  const { refuse, count } = limitCalls(
    () => 2,
    () => "o",
    () => refusals++,
  );
  const handlers: PromiseWithResolvers<never>[] = [];
  const waiting = refuse(
    count(() => {
      handlers.push(Promise.withResolvers());
      return handlers.at(-1)!.promise;
    }),
  );
  const atOnce = refuse(count((() => "answer") as unknown as CallFn));
  const call = {} as never;
  for (let i = 0; i < 5; i++) expect(atOnce(call)).toBe("answer");
  const [first, second] = [waiting(call), waiting(call)];
  for (const begin of [waiting, atOnce]) {
    let error: unknown;
    try {
      void begin(call);
    } catch (thrown) {
      error = thrown;
    }
    expect(ConnectError.from(error).code).toBe(Code.Unavailable);
  }
  expect(refusals).toBe(2);
  handlers[0]!.resolve("answer" as never);
  expect(await first).toBe("answer");
  expect(atOnce(call)).toBe("answer");
  const third = waiting(call);
  handlers[1]!.reject(new Error("failed"));
  await expect(second).rejects.toThrow("failed");
  handlers[2]!.resolve("answer" as never);
  expect(await third).toBe("answer");
  expect(refusals).toBe(2);
});

test("at the limit, those of whom most calls are under way are refused", async () => {
  const { refuse, count } = limitCalls(
    () => 4,
    ({ header }) => header.get("account")!,
    () => {},
  );
  const call = refuse(count(() => new Promise<never>(() => {})));
  const isServed = (account: string) => {
    try {
      void call({ header: new Headers({ account }) } as never);
      return true;
    } catch {
      return false;
    }
  };
  expect(Array.from({ length: 5 }, () => isServed("many"))).toEqual([true, true, true, true, false]);
  expect(Array.from({ length: 3 }, () => isServed("few"))).toEqual([true, true, false]);
  expect([isServed("one"), isServed("one"), isServed("many")]).toEqual([true, false, false]);
  expect([isServed("another"), isServed("last")]).toEqual([true, false]);
});
