import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import type { CallFn } from "../../src/call/interceptor.ts";
import { limitCalls } from "../../src/pipeline/limit-calls.ts";

test("calls beyond the limit are refused until others end, well or not; those answered at once do not count", async () => {
  let refusals = 0;
  const { refuse, count } = limitCalls(
    () => 2,
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
