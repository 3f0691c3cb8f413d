/** Implements a service for Connect's handlers by calls through a transport. */

import type {
  DescMethod,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  Message,
  MessageInitShape,
} from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import type { LocalTransport, Protocol, Touched } from "../../call/index.ts";
import { wholeMessage } from "../../codec/index.ts";
import { messageOf } from "./request.ts";

/** Completes an error in place. */
type Describe = (error: unknown, method: DescMethod) => void;

/**
 * The implementation. It passes on the signal, the remaining time, the headers and the context values of a call, and
 * returns response headers and trailers, also of a call that fails. Errors: Error for a service with streams in both
 * directions.
 */
export function forwarding(
  service: DescService,
  transport: LocalTransport,
  describe: Describe,
): Partial<ServiceImpl<DescService>> {
  const forward = (method: DescMethod) => {
    if (method.methodKind === "unary") return forwardingUnary(method as DescMethodUnary, transport, describe);
    if (method.methodKind === "server_streaming")
      return forwardingStream(method as DescMethodServerStreaming, transport, describe);
    if (method.methodKind === "client_streaming")
      return forwardingClientStream(method as DescMethodClientStreaming, transport, describe);
    throw new Error(`${service.typeName}.${method.name}: streams in both directions cannot be forwarded`);
  };
  return Object.fromEntries(service.methods.map((method) => [method.localName, forward(method)])) as never;
}

function forwardingUnary(method: DescMethodUnary, transport: LocalTransport, describe: Describe) {
  return async (given: Message, context: HandlerContext) => {
    const call = transport
      .for(context.protocolName as Protocol)
      .begin(method, messageOf(context, given), context.requestHeader, context.timeoutMs(), context);
    let touched: Touched = call.touched;
    try {
      const answer = await call.answer;
      touched = answer;
      return wholeMessage(answer.message);
    } catch (error) {
      describe(error, method);
      throw error;
    } finally {
      copyHeaders(touched.touchedHeader, context.responseHeader);
      copyHeaders(touched.touchedTrailer, context.responseTrailer);
    }
  };
}

function forwardingStream(method: DescMethodServerStreaming, transport: LocalTransport, describe: Describe) {
  return async function* (request: Message, context: HandlerContext) {
    const { signal, requestHeader, values } = context;
    const requests = createAsyncIterable([request]);
    const { stream } = transport.for(context.protocolName as Protocol);
    const response = await stream(method, signal, context.timeoutMs(), requestHeader, requests, values);
    let header: Headers | undefined = response.header;
    const copyHeader = () => {
      copyHeaders(header, context.responseHeader);
      header = undefined;
    };
    try {
      for await (const message of response.message) {
        copyHeader(); // The implementation has set them before its first message.
        yield message;
      }
    } catch (error) {
      describe(error, method);
      throw error;
    } finally {
      copyHeader();
      copyHeaders(response.trailer, context.responseTrailer);
    }
  };
}

function forwardingClientStream(method: DescMethodClientStreaming, transport: LocalTransport, describe: Describe) {
  return async (requests: AsyncIterable<Message>, context: HandlerContext) => {
    const { signal, requestHeader, values } = context;
    const { stream } = transport.for(context.protocolName as Protocol);
    const messages = requests as AsyncIterable<MessageInitShape<typeof method.input>>;
    try {
      const response = await stream(method, signal, context.timeoutMs(), requestHeader, messages, values);
      copyHeaders(response.header, context.responseHeader);
      copyHeaders(response.trailer, context.responseTrailer);
      let answer: Message | undefined;
      for await (const message of response.message) answer = message;
      return answer as Message;
    } catch (error) {
      describe(error, method);
      throw error;
    }
  };
}

function copyHeaders(from: Headers | undefined, to: Headers): void {
  for (const [name, value] of from ?? []) to.append(name, value);
}
