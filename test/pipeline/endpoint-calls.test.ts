/** Calls of endpoints that are not methods: their limits, and what is kept of them. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AuditRecord } from "../../src/audit/index.ts";
import { unavailable } from "../../src/errors.ts";
import { createLogger } from "../../src/log.ts";
import { type PortRequest, Refusal, send } from "../../src/message/index.ts";
import { type EndpointCall, EndpointCalls, type RunningCall } from "../../src/pipeline/endpoint-calls.ts";
import { limitCalls } from "../../src/pipeline/limit-calls.ts";
import { createRates } from "../../src/pipeline/limit-rates.ts";
import { UnavailableError } from "../../src/store/index.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const origin = { requestId: "1", address: "127.0.0.1", userAgent: "okta" };
const headers = {
  "x-request-id": origin.requestId,
  "user-agent": origin.userAgent,
  traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
};
let records: (AuditRecord & { readonly by?: string | undefined })[];
let lines: Record<string, unknown>[];
let counts: unknown[];
let outages: unknown[];
let maxCalls: number;
let calls: EndpointCalls;
let answer: (request: PortRequest) => EndpointCall;
let server: Server;

beforeAll(async () => {
  server = createServer((request, response) => calls.serve(request, response, answer(request)));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
});
afterAll(() => server.close());

beforeEach(() => {
  [records, lines, counts, outages, maxCalls] = [[], [], [], [], 10];
  const stream = { write: (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>) };
  const rate = { perSecond: 1, burst: 2 };
  calls = new EndpointCalls({
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
    audit: {
      report: (record, by) => records.push({ ...record, by }),
      append: async (_, record) => void records.push(record),
    },
    log: createLogger("info", { stream }),
    callCounter: { begin: () => {}, end: (method, protocol, code) => counts.push([method, protocol, code]) },
    slowCallMs: 0,
    reportOutage: (error) => outages.push(error) > 0,
    writeError(response, { code }, httpStatus = 500) {
      return send(response, { httpStatus, headers: {}, body: Code[code] });
    },
  });
});

const done = { httpStatus: 200, headers: {}, body: "OK" };
const provider = { caller: "p", scope: "p", resource: "p/1" };

/** Makes a call, and returns the text of its answer. */
async function run(call: Partial<EndpointCall> = {}, more: Record<string, string> = {}): Promise<string> {
  answer = () => ({
    method: "scim/createUser",
    rateClass: "write",
    async work(running) {
      running.identify(provider);
      return done;
    },
    ...call,
  });
  const { port } = server.address() as AddressInfo;
  return (await fetch(`http://127.0.0.1:${port}/`, { headers: { ...headers, ...more } })).text();
}

/** `known`: who calls; null for a stranger. */
const failing = (error: unknown, known: Parameters<RunningCall["identify"]>[0] | null = provider) => ({
  async work(running: RunningCall) {
    if (known !== null) running.identify(known);
    throw error;
  },
});

test("a call that succeeds has a line like any other, and the record that its change makes", async () => {
  const work: EndpointCall["work"] = async (running) => {
    running.identify(provider);
    await running.record({} as never, "p/2");
    running.count = 3;
    return done;
  };
  expect(await run({ work })).toBe("OK");
  expect(records).toEqual([
    expect.objectContaining({ caller: "p", scope: "p", resource: "p/2", code: "OK", ...origin }),
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
      count: 3,
      msg: "call",
    },
  ]);
  expect(counts).toEqual([["scim/createUser", "scim", 0]]);
});

describe("what fails", () => {
  const read = { rateClass: "read" } as const;
  const recorded = (code: string) => ({ caller: "p", resource: "p/1", code });
  const nobody = { caller: "", scope: "", resource: "" };
  test.each<[string, Partial<EndpointCall>, string, Partial<AuditRecord> | undefined]>([
    ["a change", failing(new ConnectError("no", Code.NotFound)), "NotFound", recorded("NOT_FOUND")],
    ["a read", { ...failing(new ConnectError("no", Code.NotFound)), ...read }, "NotFound", undefined],
    [
      "a denied read",
      { ...failing(new ConnectError("no", Code.PermissionDenied)), ...read },
      "PermissionDenied",
      recorded("PERMISSION_DENIED"),
    ],
    [
      "a known caller that is denied",
      failing(undefined, { ...provider, key: "k", denial: new Refusal(403, Code.PermissionDenied, "off") }),
      "PermissionDenied",
      { ...recorded("PERMISSION_DENIED"), by: "k" } as Partial<AuditRecord>,
    ],
    ["a bug", failing(new TypeError("bug")), "Internal", recorded("INTERNAL")],
    ["an outage", failing(new UnavailableError("away", undefined)), "Unavailable", recorded("UNAVAILABLE")],
    [
      "a stranger",
      failing(new ConnectError("who", Code.Unauthenticated), null),
      "Unauthenticated",
      { ...nobody, code: "UNAUTHENTICATED" },
    ],
  ])("%s", async (_, call, code, record) => {
    expect(await run(call)).toBe(code);
    expect(records).toEqual(
      record === undefined ? [] : [expect.objectContaining({ method: "scim/createUser", ...origin, ...record })],
    );
    const ended = lines.find(({ msg }) => msg === "call");
    expect(ended?.code).toBe(code.replace(/(?<=[a-z])[A-Z]/g, "_$&").toUpperCase());
    expect(lines.filter(({ msg }) => msg === "bug")).toHaveLength(code === "Internal" ? 1 : 0);
    expect(outages).toHaveLength(1);
  });
});

test("a header that is malformed fails a call", async () => {
  expect(await run({}, { "x-server-timeout": "soon" })).toBe("InvalidArgument");
  expect(records).toEqual([expect.objectContaining({ caller: "", code: "INVALID_ARGUMENT" })]);
});

test("a refusal has its HTTP status, and an endpoint may answer in a form of its own", async () => {
  const refusal = failing(new Refusal(405, Code.Unimplemented, "no"));
  expect(await run(refusal)).toBe("Unimplemented");
  const refuse: EndpointCall["refuse"] = (error, reason) =>
    reason instanceof Refusal
      ? { httpStatus: reason.httpStatus, headers: {}, body: `own: ${error.rawMessage}` }
      : undefined;
  expect(await run({ ...refusal, refuse })).toBe("own: no");
  expect(await run({ ...failing(unavailable("later")), refuse })).toBe("Unavailable");
});

test("why a token is not accepted is logged", async () => {
  const error = Object.assign(new ConnectError("who", Code.Unauthenticated), { cause: new Error("it has expired") });
  await run(failing(error, null));
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: "token refused", method: "scim/createUser", reason: "it has expired" }),
  );
});

test("a deadline ends a call, whatever its work does", async () => {
  let signal: AbortSignal | undefined;
  const work: EndpointCall["work"] = (running) => {
    ({ signal } = running);
    expect(running.timeoutMs()).toBeLessThanOrEqual(50);
    return new Promise(() => {});
  };
  expect(await run({ work }, { "x-server-timeout": "0.05" })).toBe("DeadlineExceeded");
  expect(signal?.aborted).toBe(true);
});

test("a call whose deadline has passed does not begin", async () => {
  const work = () => expect.fail("begun");
  expect(await run({ work }, { "x-server-timeout": "0" })).toBe("DeadlineExceeded");
});

test("a client that goes ends a call", async () => {
  const gone = new AbortController();
  answer = () => ({
    method: "scim/createUser",
    work() {
      gone.abort();
      return new Promise(() => {});
    },
  });
  const { port } = server.address() as AddressInfo;
  await fetch(`http://127.0.0.1:${port}/`, { signal: gone.signal }).catch(() => {});
  await expect.poll(() => counts).toEqual([["scim/createUser", "scim", Code.Canceled]]);
});

test("rates count by caller, and refusals are not recorded", async () => {
  const list = (caller: string) =>
    run({
      rateClass: "list",
      async work(running) {
        running.identify({ caller, scope: caller });
        return done;
      },
    });
  const answers = [];
  for (const caller of ["a", "a", "a", "b"]) answers.push(await list(caller));
  expect(answers).toEqual(["OK", "OK", "ResourceExhausted", "OK"]);
  expect([records, counts.filter((count) => count === "list")]).toEqual([[], ["list"]]);
});

/** A call whose work waits, once it has begun. */
async function begun(call: Partial<EndpointCall>) {
  const begin = Promise.withResolvers<RunningCall>();
  const end = Promise.withResolvers<typeof done>();
  const work: EndpointCall["work"] = (running) => {
    begin.resolve(running);
    return end.promise;
  };
  const answered = run({ ...call, work });
  return { answered, end: () => end.resolve(done), begun: await Promise.race([begin.promise, answered]) };
}

test("calls beyond the limit of a server are refused, without a line", async () => {
  maxCalls = 1;
  const first = await begun({});
  expect(await run()).toBe("Unavailable");
  expect([lines, records]).toEqual([[], []]);
  first.end();
  expect(await first.answered).toBe("OK");
  expect(await run()).toBe("OK");
});

test("calls count against their payers, of whom those with fewer calls are served at the limit", async () => {
  maxCalls = 2;
  const payer = (account: string) => () => ({ account, caller: "p", isKnown: true, pause: async () => {} }) as const;
  const answers: unknown[] = [];
  const underWay = [];
  for (const account of ["many", "many", "many", "few"]) {
    const call = await begun({ payer: payer(account) });
    const running = call.begun;
    answers.push(
      typeof running === "string"
        ? running
        : [running.account, running.payer?.account, running.pause() instanceof Promise],
    );
    underWay.push(call);
  }
  const served = (account: string) => [account, account, true];
  expect(answers).toEqual([served("many"), served("many"), "Unavailable", served("few")]);
  for (const { end } of underWay) end();
});
