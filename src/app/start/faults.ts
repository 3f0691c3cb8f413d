/** Faults that a client asks a stand-in for, by header: answers that come late, fail, or break off. */
import { setTimeout as delay } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { completeError, invalid, reasonOf } from "../../errors.ts";
import { closeConnection } from "../../http/index.ts";
import { headerOf, isGone, type PortResponse } from "../../message/index.ts";
import { setCorsHeaders } from "../cors.ts";
import type { StartContext } from "./context.ts";
import { refuse } from "./overload.ts";
import type { RequestHandlers } from "./port-handlers.ts";

/** The header field that asks for a fault. */
export const faultHeader = "X-Platform-Fault";

const header = faultHeader.toLowerCase();
const forms = "latency=200ms, code=UNAVAILABLE, drop, disconnect-after=BYTES";
/** `code=UNAVAILABLE` and the others. */
const codes: ReadonlyMap<string, Code> = new Map(
  Object.values(Code).flatMap((code) => (typeof code === "number" ? [[`code=${reasonOf(code)}`, code] as const] : [])),
);

/** What happens to one request. */
interface Fault {
  /** How long the request waits before anything else. */
  latencyMs: number;
  /** The error that it gets instead of an answer. */
  code?: Code;
  /** Whether it gets nothing. */
  isDropped: boolean;
  /** How many bytes of the body of its answer it gets at most. */
  bodyBytes: number;
}

/** Handlers that carry out the fault that the header of a request asks for. Other requests are not affected. */
export function withFaults(handlers: RequestHandlers, { api, config, live }: StartContext): RequestHandlers {
  const answer: RequestHandlers["onRequest"] = async (request, response) => {
    setCorsHeaders(live.current.corsOrigins, request, response); // so that a page can read the error
    let fault: Fault;
    try {
      fault = parseFault(headerOf(request, header)!);
    } catch (error) {
      return refuse(
        request,
        response,
        completeError(error as ConnectError, config.serviceHost, undefined),
        api.registry,
      );
    }
    await delay(fault.latencyMs);
    if (isGone(response)) return;
    if (fault.isDropped) return closeConnection(request);
    if (fault.code !== undefined) {
      const error = new ConnectError("the fault that the request asked for", fault.code);
      return refuse(request, response, completeError(error, config.serviceHost, undefined), api.registry);
    }
    limitBody(response, fault.bodyBytes, () => closeConnection(request));
    handlers.onRequest(request, response);
  };
  return {
    ...handlers,
    onRequest: (request, response) =>
      request.headers[header] === undefined ? handlers.onRequest(request, response) : void answer(request, response),
    onBufferedRequest: (request, response) =>
      request.headers[header] === undefined ? handlers.onBufferedRequest(request, response) : response.fallBack(),
    planFastPath: (head) => (head.headers[header] === undefined ? handlers.planFastPath(head) : undefined),
  };
}

/** Parses `latency=200ms; code=UNAVAILABLE; drop; disconnect-after=10`. Errors: INVALID_ARGUMENT. */
function parseFault(text: string): Fault {
  const fault: Fault = { latencyMs: 0, isDropped: false, bodyBytes: Number.POSITIVE_INFINITY };
  for (const part of text.split(";").map((it) => it.trim())) {
    const [, latency, unit] = /^latency=([0-9]{1,5})(ms|s)$/.exec(part) ?? [];
    const [, bytes] = /^disconnect-after=([0-9]{1,9})$/.exec(part) ?? [];
    const code = codes.get(part);
    if (latency !== undefined) fault.latencyMs = Number(latency) * (unit === "s" ? 1000 : 1);
    else if (code !== undefined) fault.code = code;
    else if (bytes !== undefined) fault.bodyBytes = Number(bytes);
    else if (part === "drop") fault.isDropped = true;
    else
      throw invalid({
        field: "",
        description: `${faultHeader}: ${JSON.stringify(part)} is none of ${forms}`,
      });
  }
  return fault;
}

/** Has the connection closed after so many bytes of the body. One that is not longer is complete. */
function limitBody(response: PortResponse, bytes: number, close: () => void): void {
  if (bytes === Number.POSITIVE_INFINITY) return;
  let left = bytes;
  const write = response.write.bind(response) as (chunk: Uint8Array, done?: () => void) => boolean;
  const end = response.end.bind(response) as (...args: unknown[]) => unknown;
  const pass = (chunk: unknown, encoding: unknown): Uint8Array | undefined => {
    const all = typeof chunk === "string" ? Buffer.from(chunk, encoding as BufferEncoding) : (chunk as Uint8Array);
    if (all.length <= left) {
      left -= all.length;
      return all;
    }
    write(all.subarray(0, left), close);
    left = 0;
    return undefined;
  };
  Object.assign(response, {
    write: (chunk: unknown, encoding: unknown, done?: () => void) => {
      const whole = pass(chunk, typeof encoding === "string" ? encoding : "utf8");
      return whole === undefined || write(whole, typeof encoding === "function" ? (encoding as () => void) : done);
    },
    end: (chunk?: unknown, encoding?: unknown, ...more: unknown[]) => {
      if (chunk === undefined || typeof chunk === "function") return end(chunk);
      const whole = pass(chunk, typeof encoding === "string" ? encoding : "utf8");
      return whole === undefined ? response : end(whole, ...(typeof encoding === "function" ? [encoding] : more));
    },
  });
}
