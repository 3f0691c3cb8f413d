/**
 * The place of a call in a trace, as header fields carry it. Follows: W3C Trace Context (level 1, and level 2 as far as
 * it is compatible), W3C Baggage.
 */
import { randomHex } from "./new-uid.ts";

/** The place of a span in a trace. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  /** Whether the span may have been recorded. */
  readonly isSampled: boolean;
  /** `tracestate`; "" without one. */
  readonly state: string;
  /** Members of `baggage` that are passed on; "" without any. */
  readonly baggage: string;
}

/** No vendor's state must be longer. */
const maxStateLength = 512;
const maxBaggageLength = 8192;
const maxMembers = 32;

/** Header fields by lower-case name. */
type Fields = Pick<Headers, "get">;

/**
 * The context that a request carries; undefined without a valid one. `kept`: names of the baggage's members to keep.
 */
export function readTraceContext(header: Fields, kept: readonly string[] = []): TraceContext | undefined {
  const traceparent = header.get("traceparent");
  if (traceparent === null) return undefined;
  const { traceId, spanId, flags } = parse(traceparent) ?? {};
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return {
    traceId,
    spanId,
    isSampled: (Number.parseInt(flags, 16) & 1) === 1,
    state: stateIn(header.get("tracestate") ?? ""),
    baggage: kept.length === 0 ? "" : baggageIn(header.get("baggage") ?? "", kept),
  };
}

/** The id of the trace that a request of Node is part of; undefined if it is part of none. */
export function traceIdOf(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === "string" ? parse(traceparent)?.traceId : undefined;
}

/** `traceparent`, and `tracestate` if there is one: names of header fields and of CloudEvents' attributes alike. */
export function traceFields({ traceId, spanId, isSampled, state }: TraceContext): Record<string, string> {
  return { traceparent: `00-${traceId}-${spanId}-0${isSampled ? 1 : 0}`, ...(state !== "" && { tracestate: state }) };
}

/** The context of a call that is not recorded, in the trace of a caller that may be: it has a span id of its own. */
export function unsampled(context: TraceContext): TraceContext {
  return context.isSampled ? { ...context, spanId: randomHex(8), isSampled: false } : context;
}

/** The members of a baggage that was kept, decoded. */
export function baggageMembers({ baggage }: TraceContext): (readonly [name: string, value: string])[] {
  return baggage.split(",").flatMap((member) => {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(member) ?? [];
    return name === undefined || value === undefined ? [] : [[name, decoded(value)] as const];
  });
}

/** A later version may have more fields behind those of version 00. */
function parse(traceparent: string) {
  const match =
    /^(?!ff)(?<version>[\da-f]{2})-(?!0{32})(?<traceId>[\da-f]{32})-(?!0{16})(?<spanId>[\da-f]{16})-(?<flags>[\da-f]{2})(?<more>-.*)?$/.exec(
      traceparent,
    );
  const { version, traceId, spanId, flags, more } = match?.groups ?? {};
  return version === "00" && more !== undefined ? undefined : { traceId, spanId, flags };
}

function stateIn(text: string): string {
  const members = text.split(",").map((member) => member.trim());
  const isValid = members.every((member) =>
    /^[a-z\d][\w\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/.test(member),
  );
  const state = members.join(",");
  return isValid && members.length <= maxMembers && state.length <= maxStateLength ? state : "";
}

/** The members with these names, without their properties. */
function baggageIn(text: string, kept: readonly string[]): string {
  if (text.length > maxBaggageLength) return "";
  const members = text.split(",").map((member) => {
    const [pair = ""] = member.split(";", 1);
    const at = pair.indexOf("=");
    return { name: pair.slice(0, Math.max(at, 0)).trim(), value: pair.slice(at + 1).trim() };
  });
  return members
    .filter(({ name, value }) => kept.includes(name) && /^[!#-+\--:<-[\]-~]*$/.test(value))
    .slice(0, maxMembers)
    .map(({ name, value }) => `${name}=${value}`)
    .join(",");
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value; // not percent-encoded, as it should be
  }
}
