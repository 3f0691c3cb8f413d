/** Services of a Connect router, called in this process without a protocol between. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createHandlerContext,
  createMethodImplSpec,
  createServiceImplSpec,
  type Transport,
} from "@connectrpc/connect";
import { createAsyncIterable, transformInvokeImplementation } from "@connectrpc/connect/protocol";

/** Options of all routes. Those that a service or a method is registered with replace them. */
export type RouterOptions = Partial<Pick<ConnectRouterOptions, "interceptors" | "requestGate" | "shutdownSignal">>;

/** A method with its implementation. */
interface Route {
  readonly spec: ReturnType<typeof createMethodImplSpec>;
  readonly options: RouterOptions;
}

/**
 * The transport and the services of the routes that Connect's adapters take, as options of `createRestHandler`.
 * Handlers get the context values of the request. Other options of the routes concern the protocols of Connect. A gate
 * runs when the request has been read.
 */
export function fromRouter(
  routes: (router: ConnectRouter) => unknown,
  common: RouterOptions = {},
): { transport: Transport; services: DescService[] } {
  const byMethod = new Map<DescMethod, Route>();
  const router: ConnectRouter = {
    handlers: [],
    service(service, implementation, options) {
      const { methods } = createServiceImplSpec(service, implementation);
      for (const spec of Object.values(methods))
        byMethod.set(spec.method, { spec, options: { ...common, ...options } });
      return router;
    },
    rpc(method, implementation, options) {
      byMethod.set(method, { spec: createMethodImplSpec(method, implementation), options: { ...common, ...options } });
      return router;
    },
  };
  routes(router);
  const services = new Set([...byMethod.keys()].map(({ parent }) => parent));
  return { transport: createTransport(byMethod), services: [...services] };
}

function createTransport(routes: ReadonlyMap<DescMethod, Route>): Transport {
  /** Starts a call. The header of the response is complete when the first message has come. */
  async function start(
    method: DescMethod,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: Parameters<Transport["unary"]>[3],
    input: AsyncIterable<unknown>,
    contextValues: Parameters<Transport["unary"]>[5],
  ) {
    const route = routes.get(method);
    if (route === undefined) throw new ConnectError(`${method.name} is not implemented`, Code.Unimplemented);
    const { interceptors = [], requestGate, shutdownSignal } = route.options;
    const context = createHandlerContext({
      service: method.parent,
      method,
      protocolName: "rest",
      requestMethod: "POST",
      url: `http://in-process/${method.parent.typeName}/${method.name}`,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(header !== undefined && { requestHeader: header }),
      ...(signal !== undefined && { requestSignal: signal }),
      ...(shutdownSignal !== undefined && { shutdownSignal }),
      ...(contextValues !== undefined && { contextValues }),
    });
    try {
      await requestGate?.(context);
      const output = transformInvokeImplementation(route.spec, context, interceptors)(input as never);
      const iterator = output[Symbol.asyncIterator]();
      return { context, first: await untilAborted(iterator.next(), context.signal), iterator };
    } catch (error) {
      context.abort(error);
      if (error instanceof ConnectError) addMissing(error.metadata, [context.responseHeader, context.responseTrailer]);
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

/** Adds the fields of other headers that are not set. */
function addMissing(headers: Headers, others: readonly Headers[]): void {
  for (const other of others) other.forEach((value, name) => void (headers.has(name) || headers.set(name, value)));
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
