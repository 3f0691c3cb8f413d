import { describe, expect, test } from "vitest";
import { baggageMembers, readTraceContext, traceFields, traceIdOf, unsampled } from "../src/trace-context.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const read = (fields: Record<string, string>, kept?: readonly string[]) => readTraceContext(new Headers(fields), kept);

describe("traceparent", () => {
  test.each([
    [`00-${traceId}-${spanId}-01`, true],
    [`00-${traceId}-${spanId}-00`, false],
    [`00-${traceId}-${spanId}-03`, true],
    [`cc-${traceId}-${spanId}-01`, true],
    [`cc-${traceId}-${spanId}-01-what-the-future-brings`, true],
  ])("%s is read", (traceparent, isSampled) => {
    expect(read({ traceparent })).toEqual({ traceId, spanId, isSampled, state: "", baggage: "" });
    expect(traceIdOf({ traceparent })).toBe(traceId);
  });

  test.each([
    [""],
    [`00-${traceId}-${spanId}`],
    [`00-${traceId}-${spanId}-01-more`],
    [`cc-${traceId}-${spanId}-01more`],
    [`ff-${traceId}-${spanId}-01`],
    [`00-${"0".repeat(32)}-${spanId}-01`],
    [`00-${traceId}-${"0".repeat(16)}-01`],
    [`00-${traceId.toUpperCase()}-${spanId}-01`],
    [`00-${traceId}-${spanId}-0x`],
    [`${`00-${traceId}-${spanId}-01`}, ${`00-${traceId}-${spanId}-01`}`],
  ])("%j is ignored", (traceparent) => {
    expect(read({ traceparent, tracestate: "a=1" })).toBeUndefined();
    expect(traceIdOf({ traceparent })).toBeUndefined();
  });
});

test("tracestate is passed on if it is valid and not too long", () => {
  const stateOf = (tracestate: string) => read({ traceparent: `00-${traceId}-${spanId}-01`, tracestate })?.state;
  expect(stateOf("a=1, tenant@b=x y")).toBe("a=1,tenant@b=x y");
  for (const invalid of ["a", "=1", "A=1", "a=", Array(40).fill("a=1").join(), `a=${"x".repeat(600)}`])
    expect(stateOf(invalid)).toBe("");
});

test("baggage is dropped, but for the members that are named", () => {
  const fields = { traceparent: `00-${traceId}-${spanId}-01`, baggage: "a=1;p=2, b = x%20y , c=3,broken,d=\u0022" };
  expect(read(fields)?.baggage).toBe("");
  const kept = read(fields, ["b", "c", "broken", "d"])!;
  expect(kept.baggage).toBe("b=x%20y,c=3");
  expect(baggageMembers(kept)).toEqual([
    ["b", "x y"],
    ["c", "3"],
  ]);
  expect(read({ ...fields, baggage: `a=${"x".repeat(9000)}` }, ["a"])?.baggage).toBe("");
});

test("a call that is not recorded in a sampled trace has a span id of its own", () => {
  const context = read({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: "a=1" })!;
  expect(traceFields(context)).toEqual({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: "a=1" });
  const { traceparent } = traceFields(unsampled(context));
  expect(traceparent).toMatch(new RegExp(`^00-${traceId}-(?!${spanId})[0-9a-f]{16}-00$`));
  const other = read({ traceparent: `00-${traceId}-${spanId}-00` })!;
  expect(unsampled(other)).toEqual(other);
});
