/** A service implementation whose every method is a call through a transport, for Connect's handlers. */
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { wholeMessage } from "../codec/index.ts";
import type { Touched } from "./local-call.ts";
import type { LocalTransport } from "./local-transport.ts";
import { messageOf } from "./rpc-request.ts";

/**
 * Signal, remaining time, headers and context values of the call go along; response headers and trailers come back, also those of a call that
 * fails. Errors: a plain Error for a service with client streams.
 */
export function forwarding(service: DescService, transport: LocalTransport): Partial<ServiceImpl<DescService>> {
  const forward = (method: DescMethod) => {
    if (method.methodKind === "unary") return forwardingUnary(method as DescMethodUnary, transport);
    if (method.methodKind === "server_streaming")
      return forwardingStream(method as DescMethodServerStreaming, transport);
    throw new Error(`${service.typeName}.${method.name}: a client stream cannot be forwarded`);
  };
  return Object.fromEntries(service.methods.map((method) => [method.localName, forward(method)])) as never;
}

function forwardingUnary(method: DescMethodUnary, transport: LocalTransport) {
  return async (given: Message, context: HandlerContext) => {
    const call = transport.begin(
      method,
      messageOf(context, given),
      context.requestHeader,
      context.timeoutMs(),
      context,
    );
    let touched: Touched = call.touched;
    try {
      const answer = await call.answer;
      touched = answer;
      return wholeMessage(answer.message);
    } finally {
      copyHeaders(touched.touchedHeader, context.responseHeader);
      copyHeaders(touched.touchedTrailer, context.responseTrailer);
    }
  };
}

function forwardingStream(method: DescMethodServerStreaming, transport: LocalTransport) {
  return async function* (request: Message, context: HandlerContext) {
    const { signal, requestHeader, values } = context;
    const requests = only(request);
    const response = await transport.stream(method, signal, context.timeoutMs(), requestHeader, requests, values);
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
    } finally {
      copyHeader();
      copyHeaders(response.trailer, context.responseTrailer);
    }
  };
}

async function* only<T>(value: T): AsyncGenerator<T> {
  yield value;
}

function copyHeaders(from: Headers | undefined, to: Headers): void {
  for (const [name, value] of from ?? []) to.append(name, value);
}
