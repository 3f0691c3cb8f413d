/** Services of a Connect router, called in this process without a protocol between. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createHandlerContext,
  createMethodImplSpec,
  createServiceImplSpec,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { createAsyncIterable, transformInvokeImplementation } from "@connectrpc/connect/protocol";

/** Options of {@link fromRouter}. */
export interface RouterOptions {
  /** Run around every call, as those of a router are. */
  readonly interceptors?: readonly Interceptor[] | undefined;
}

type Implementation = ReturnType<typeof createMethodImplSpec>;

/**
 * The transport and the services of the routes that Connect's adapters take, as options of `createRestHandler`. Handlers
 * get the context values of the request. Per-service options of the routes are ignored.
 */
export function fromRouter(
  routes: (router: ConnectRouter) => unknown,
  { interceptors = [] }: RouterOptions = {},
): { transport: Transport; services: DescService[] } {
  const implementations = new Map<DescMethod, Implementation>();
  const router: ConnectRouter = {
    handlers: [],
    service(service, implementation) {
      const { methods } = createServiceImplSpec(service, implementation);
      for (const spec of Object.values(methods)) implementations.set(spec.method, spec);
      return router;
    },
    rpc(method, implementation) {
      implementations.set(method, createMethodImplSpec(method, implementation));
      return router;
    },
  };
  routes(router);
  const services = new Set([...implementations.keys()].map(({ parent }) => parent));
  return { transport: createTransport(implementations, [...interceptors]), services: [...services] };
}

function createTransport(implementations: ReadonlyMap<DescMethod, Implementation>, interceptors: Interceptor[]) {
  /** Starts a call. The header of the response is complete when the first message has come. */
  async function start(
    method: DescMethod,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: Parameters<Transport["unary"]>[3],
    input: AsyncIterable<unknown>,
    contextValues: Parameters<Transport["unary"]>[5],
  ) {
    const spec = implementations.get(method);
    if (spec === undefined) throw new ConnectError(`${method.name} is not implemented`, Code.Unimplemented);
    const context = createHandlerContext({
      service: method.parent,
      method,
      protocolName: "rest",
      requestMethod: "POST",
      url: `http://in-process/${method.parent.typeName}/${method.name}`,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(header !== undefined && { requestHeader: header }),
      ...(signal !== undefined && { requestSignal: signal }),
      ...(contextValues !== undefined && { contextValues }),
    });
    const iterator = transformInvokeImplementation(spec, context, interceptors)(input as never)[Symbol.asyncIterator]();
    try {
      return { context, first: await untilAborted(iterator.next(), context.signal), iterator };
    } catch (error) {
      context.abort(error);
      throw error;
    }
  }

  const transport: Transport = {
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const input = createAsyncIterable([message]);
      const { context, first } = await start(method, signal, timeoutMs, header, input, contextValues);
      context.abort(); // ends the timer of the deadline
      return {
        stream: false,
        service: method.parent,
        method,
        header: context.responseHeader,
        trailer: context.responseTrailer,
        message: first.value as never,
      };
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const { context, first, iterator } = await start(method, signal, timeoutMs, header, input, contextValues);
      async function* messages() {
        try {
          for (let next = first; next.done !== true; next = await untilAborted(iterator.next(), context.signal))
            yield next.value as never;
        } finally {
          context.abort();
          iterator.return?.().catch(() => {}); // not awaited, as the service may ignore its signal
        }
      }
      return {
        stream: true,
        service: method.parent,
        method,
        header: context.responseHeader,
        trailer: context.responseTrailer,
        message: messages(),
      };
    },
  };
  return transport;
}

/** The value of a promise. Errors: the reason of the signal, as soon as it is aborted. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
