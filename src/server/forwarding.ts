/** A service implementation whose every method is a call through a transport, for Connect's handlers. */
import type { DescMethod, DescMethodServerStreaming, DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl, Transport } from "@connectrpc/connect";

/**
 * Signal, remaining time, headers and context values of the call go along; response headers and trailers come back. Errors: a plain Error for
 * a service with client streams.
 */
export function forwarding(service: DescService, transport: Transport): Partial<ServiceImpl<DescService>> {
  const forward = (method: DescMethod) => {
    if (method.methodKind === "unary") return forwardingUnary(method as DescMethodUnary, transport);
    if (method.methodKind === "server_streaming")
      return forwardingStream(method as DescMethodServerStreaming, transport);
    throw new Error(`${service.typeName}.${method.name}: a client stream cannot be forwarded`);
  };
  return Object.fromEntries(service.methods.map((method) => [method.localName, forward(method)])) as never;
}

function forwardingUnary(method: DescMethodUnary, transport: Transport) {
  return async (request: Message, context: HandlerContext) => {
    const { signal, requestHeader, values } = context;
    const response = await transport.unary(method, signal, context.timeoutMs(), requestHeader, request, values);
    copyHeaders(response.header, context.responseHeader);
    copyHeaders(response.trailer, context.responseTrailer);
    return response.message;
  };
}

function forwardingStream(method: DescMethodServerStreaming, transport: Transport) {
  return async function* (request: Message, context: HandlerContext) {
    const { signal, requestHeader, values } = context;
    const requests = only(request);
    const response = await transport.stream(method, signal, context.timeoutMs(), requestHeader, requests, values);
    let isFirst = true;
    for await (const message of response.message) {
      if (isFirst) copyHeaders(response.header, context.responseHeader); // The implementation sets them before its first message.
      isFirst = false;
      yield message;
    }
    copyHeaders(response.trailer, context.responseTrailer);
  };
}

async function* only<T>(value: T): AsyncGenerator<T> {
  yield value;
}

function copyHeaders(from: Headers, to: Headers): void {
  for (const [name, value] of from) to.append(name, value);
}
