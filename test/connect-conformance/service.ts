/**
 * The service that the conformance runner calls. Every request says how to answer it, and every answer contains what
 * was received of the request: its headers, its time-out and its messages.
 */
import { setTimeout } from "node:timers/promises";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError, createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  ConformancePayload_RequestInfoSchema,
  type ConformanceService,
  type Error as ErrorDefinition,
  type Header,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  type StreamResponseDefinition,
  UnaryRequestSchema,
  type UnaryResponseDefinition,
} from "./gen/connectrpc/conformance/v1/service_pb.ts";

/** The target of the HTTP request, as its path and query; the context of a call in this process does not have it. */
export const requestTarget = createContextKey("");

/** Every method but `Unimplemented`, which must not be implemented. */
export const conformance = {
  unary: (request, context) => answer(request.responseDefinition, [[UnaryRequestSchema, request]], context),

  idempotentUnary: (request, context) =>
    answer(request.responseDefinition, [[IdempotentUnaryRequestSchema, request]], context),

  async clientStream(requests, context) {
    const received: Received[] = [];
    let definition: UnaryResponseDefinition | undefined;
    for await (const request of requests) {
      if (received.length === 0) definition = request.responseDefinition;
      received.push([ClientStreamRequestSchema, request]);
    }
    return answer(definition, received, context);
  },

  async *serverStream(request, context) {
    const { responseDefinition: definition } = request;
    if (definition === undefined) return;
    announce(definition, context);
    const requestInfo = seen(context, [[ServerStreamRequestSchema, request]]);
    for (const [index, data] of definition.responseData.entries()) {
      await pause(definition.responseDelayMs, context);
      yield { payload: index === 0 ? { data, requestInfo } : { data } };
    }
    if (definition.error !== undefined)
      throw errorOf(definition.error, definition.responseData.length === 0 ? requestInfo : undefined);
  },

  async *bidiStream(requests, context) {
    let definition: StreamResponseDefinition | undefined;
    let fullDuplex = false;
    let isFirst = true;
    let unreported: Received[] = [];
    let sent = 0;
    const respond = async () => {
      const { responseData = [], responseDelayMs = 0 } = definition ?? {};
      await pause(responseDelayMs, context);
      const data = responseData[sent]!;
      const requestInfo = sent === 0 ? seen(context, unreported) : { requests: unreported.map(pack) };
      sent++;
      unreported = [];
      return { payload: { data, requestInfo } };
    };
    const isLeft = () => sent < (definition?.responseData.length ?? 0);

    for await (const request of requests) {
      if (isFirst) {
        ({ responseDefinition: definition, fullDuplex } = request);
        if (definition !== undefined) announce(definition, context);
        isFirst = false;
      }
      unreported.push([BidiStreamRequestSchema, request]);
      if (!fullDuplex) continue;
      if (!isLeft()) break;
      yield await respond();
    }
    while (isLeft()) yield await respond();
    if (definition?.error !== undefined)
      throw errorOf(definition.error, sent === 0 ? seen(context, unreported) : undefined);
  },
} satisfies Partial<ServiceImpl<typeof ConformanceService>>;

/** A message that came in, and what it is. */
type Received = readonly [schema: DescMessage, message: MessageShape<DescMessage>];

/** The answer of a method that has one. */
async function answer(
  definition: UnaryResponseDefinition | undefined,
  received: readonly Received[],
  context: HandlerContext,
) {
  const requestInfo = seen(context, received);
  if (definition === undefined) return { payload: { requestInfo } };
  announce(definition, context);
  await pause(definition.responseDelayMs, context);
  const { response } = definition;
  if (response.case === "error") throw errorOf(response.value, requestInfo);
  return { payload: response.case === undefined ? { requestInfo } : { requestInfo, data: response.value } };
}

/** Sets the headers and trailers that the request asks for. */
function announce(
  { responseHeaders, responseTrailers }: UnaryResponseDefinition | StreamResponseDefinition,
  { responseHeader, responseTrailer }: HandlerContext,
): void {
  append(responseHeaders, responseHeader);
  append(responseTrailers, responseTrailer);
}

function append(fields: readonly Header[], headers: Headers): void {
  for (const { name, value: values } of fields) for (const value of values) headers.append(name, value);
}

/** What the service has seen of a call. */
function seen(context: HandlerContext, received: readonly Received[]) {
  const timeoutMs = context.timeoutMs();
  const query = context.values.get(requestTarget).split("?")[1];
  return {
    requestHeaders: fieldsOf(context.requestHeader),
    requests: received.map(pack),
    ...(timeoutMs !== undefined && { timeoutMs: BigInt(Math.round(timeoutMs)) }),
    ...(query !== undefined && { connectGetInfo: { queryParams: fieldsOf(new URLSearchParams(query)) } }),
  };
}

function fieldsOf(fields: Iterable<[string, string]>) {
  return Array.from(fields, ([name, value]) => ({ name, value: [value] }));
}

function pack([schema, message]: Received) {
  return anyPack(schema, message);
}

/** The error that the request asks for. `requestInfo`: a detail of it, if no message has contained it. */
function errorOf(
  { code, message, details }: ErrorDefinition,
  requestInfo: ReturnType<typeof seen> | undefined,
): ConnectError {
  const error = new ConnectError(message ?? "", code as number);
  for (const { typeUrl, value } of details)
    error.details.push({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value });
  if (requestInfo !== undefined) error.details.push({ desc: ConformancePayload_RequestInfoSchema, value: requestInfo });
  return error;
}

/** Waits, but no longer than the call lasts. */
async function pause(ms: number, { signal }: HandlerContext): Promise<void> {
  if (ms > 0) await setTimeout(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
}
