/** Calls of endpoints that are not methods: their limits, and what is kept of them. */
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, describe, expect, test } from "vitest";
import type { AuditRecord } from "../../src/audit/index.ts";
import { createLogger } from "../../src/log.ts";
import { createEndpointCalls, type EndpointCall } from "../../src/pipeline/endpoint-calls.ts";
import { limitCalls } from "../../src/pipeline/limit-calls.ts";
import { createRates } from "../../src/pipeline/limit-rates.ts";
import { UnavailableError } from "../../src/store/index.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
let records: AuditRecord[];
let lines: Record<string, unknown>[];
let counts: unknown[];
let outages: unknown[];
let maxCalls: number;

beforeEach(() => {
  [records, lines, counts, outages, maxCalls] = [[], [], [], [], 10];
});

function calls() {
  const stream = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
  const rate = { perSecond: 1, burst: 2 };
  return createEndpointCalls({
    limit: limitCalls(
      () => maxCalls,
      () => undefined,
      () => counts.push("overload"),
    ),
    rates: createRates({
      limits: { read: undefined, list: rate, write: undefined },
      now: () => 0,
      onRefusal: (rateClass) => counts.push(rateClass),
    }),
    audit: { report: (record) => records.push(record) },
    log: createLogger("info", { stream }),
    callCounter: { begin: () => {}, end: (method, protocol, code) => counts.push([method, protocol, code]) },
    slowCallMs: 0,
    reportOutage: (error) => outages.push(error) > 0,
  });
}

function call(change: Partial<EndpointCall> = {}): EndpointCall {
  return {
    method: "scim/createUser",
    protocol: "scim",
    rateClass: "write",
    origin: { requestId: "1", address: "192.0.2.1", userAgent: "okta" },
    traceId,
    payer: () => undefined,
    timeoutMs: () => undefined,
    authenticate: async () => ({ caller: "p", scope: "p", resource: "p/1" }),
    onGone: () => {},
    ...change,
  };
}

const failing = (error: unknown) => async () => {
  throw error;
};
const codeOf = (run: Promise<unknown>) =>
  run.then(
    () => "OK",
    (error: unknown) => Code[ConnectError.from(error).code],
  );

test("a call that succeeds has a line like any other, and its record", async () => {
  const answer = await calls().run(call(), async ({ scope, recordOf }) => [scope, recordOf("p/2")] as const);
  expect(answer).toEqual([
    "p",
    expect.objectContaining({ caller: "p", scope: "p", resource: "p/2", code: "OK", ...call().origin }),
  ]);
  expect(lines).toEqual([
    {
      level: "info",
      time: expect.any(String),
      method: "scim/createUser",
      code: "OK",
      ms: expect.any(Number),
      caller: "p",
      requestId: "1",
      traceId,
      msg: "call",
    },
  ]);
  expect([records, counts]).toEqual([[], [["scim/createUser", "scim", 0]]]);
});

describe("what fails", () => {
  test.each<[string, Partial<EndpointCall>, unknown, string, Partial<AuditRecord> | undefined]>([
    [
      "a change",
      {},
      new ConnectError("no", Code.NotFound),
      "NotFound",
      { caller: "p", resource: "p/1", code: "NOT_FOUND" },
    ],
    ["a read", { rateClass: "read" }, new ConnectError("no", Code.NotFound), "NotFound", undefined],
    [
      "a denied read",
      { rateClass: "read" },
      new ConnectError("no", Code.PermissionDenied),
      "PermissionDenied",
      { caller: "p", code: "PERMISSION_DENIED" },
    ],
    ["a bug", {}, new TypeError("bug"), "Internal", { code: "INTERNAL" }],
    ["an outage", {}, new UnavailableError("away", undefined), "Unavailable", { code: "UNAVAILABLE" }],
    [
      "a stranger",
      { authenticate: failing(new ConnectError("who", Code.Unauthenticated)) as never },
      undefined,
      "Unauthenticated",
      { caller: "", scope: "", resource: "", code: "UNAUTHENTICATED" },
    ],
    [
      "a header",
      {
        timeoutMs: () => {
          throw new ConnectError("x", Code.InvalidArgument);
        },
      },
      undefined,
      "InvalidArgument",
      { caller: "", code: "INVALID_ARGUMENT" },
    ],
  ])("%s", async (_, change, error, code, record) => {
    expect(await codeOf(calls().run(call(change), failing(error)))).toBe(code);
    expect(records).toEqual(
      record === undefined ? [] : [expect.objectContaining({ method: "scim/createUser", ...call().origin, ...record })],
    );
    const ended = lines.find(({ msg }) => msg === "call");
    expect(ended?.code).toBe(code.replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase());
    expect(lines.filter(({ msg }) => msg === "bug")).toHaveLength(code === "Internal" ? 1 : 0);
    if (error !== undefined) expect(outages).toEqual([error]);
  });
});

test("a deadline ends a call, whatever its work does", async () => {
  let signal: AbortSignal | undefined;
  const run = calls().run(call({ timeoutMs: () => 1 }), (running) => {
    ({ signal } = running);
    expect(running.timeoutMs()).toBeLessThanOrEqual(1);
    return new Promise(() => {});
  });
  expect(await codeOf(run)).toBe("DeadlineExceeded");
  expect(signal?.aborted).toBe(true);
});

test("a client that goes ends a call", async () => {
  const run = calls().run(call({ onGone: (end) => setImmediate(end) }), () => new Promise(() => {}));
  expect(await codeOf(run)).toBe("Canceled");
});

test("rates count by caller, and refusals are not recorded", async () => {
  const { run } = calls();
  const list = (caller: string) =>
    codeOf(
      run(
        call({ rateClass: "list", authenticate: async () => ({ caller, scope: caller, resource: "" }) }),
        async () => 1,
      ),
    );
  expect(await Promise.all(["a", "a", "a", "b"].map(list))).toEqual(["OK", "OK", "ResourceExhausted", "OK"]);
  expect([records, counts[0]]).toEqual([[], "list"]);
});

test("calls beyond the limit of a server are refused, without a line", async () => {
  maxCalls = 1;
  const { run } = calls();
  const first = Promise.withResolvers<string>();
  const underWay = run(call(), () => first.promise);
  expect(await codeOf(run(call(), async () => 1))).toBe("Unavailable");
  expect([lines, records]).toEqual([[], []]);
  first.resolve("done");
  expect(await underWay).toBe("done");
  expect(await codeOf(run(call(), async () => 1))).toBe("OK");
});

test("calls count against their payers, of whom those with fewer calls are served at the limit", async () => {
  maxCalls = 2;
  const { run } = calls();
  const payer = (account: string) => () => ({ account, caller: "p", isKnown: true, pause: async () => {} }) as const;
  const begin = (account: string) => {
    let seen: unknown;
    const ended = run(call({ payer: payer(account) }), (running) => {
      seen = [running.account, running.payer?.account, running.pause?.() instanceof Promise];
      return new Promise(() => {});
    });
    return Promise.race([codeOf(ended), new Promise(setImmediate).then(() => seen)]);
  };
  const answers = [];
  for (const account of ["many", "many", "many", "few"]) answers.push(await begin(account));
  const served = (account: string) => [account, account, true];
  expect(answers).toEqual([served("many"), served("many"), "Unavailable", served("few")]);
});
