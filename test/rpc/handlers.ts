/** Two ports that serve the same calls, one with and one without the fast path, and a record of what happened. */
import { once } from "node:events";
import { create, fromBinary } from "@bufbuild/protobuf";
import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import {
  Health,
  type HealthCheckRequest,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Status,
} from "../../gen/grpc/health/v1/health_pb.ts";
import type { CallInterceptor } from "../../src/call/interceptor.ts";
import { type OpenPort, openPort } from "../http/open-port.ts";
import { rpcCallbacks } from "./handler-fixture.ts";

/** The method that is served. Its request's `service` says how it is to be answered. */
export const checkPath = "/grpc.health.v1.Health/Check";

/** Maximum size of a request message in bytes. */
export const readMaxBytes = 4096;

/** The ports, and what has happened since {@link Ports.forget}. */
export interface Ports {
  readonly fast: OpenPort;
  readonly standard: OpenPort;
  /** The errors that were reported. */
  readonly errors: unknown[];
  /** The requests of calls whose handler has begun. */
  readonly begun: string[];
  /** Why handlers were cancelled. */
  readonly stopped: unknown[];
  /** The requests that the fast path has not answered. `isBegun`: it had read some of the body. */
  readonly fallBacks: { readonly path: string; readonly isBegun: boolean }[];
  /** The paths of buffered requests that the fast path has answered. */
  readonly buffered: string[];
  forget(): void;
  close(): Promise<unknown>;
}

/** Opens both ports. */
export async function openPorts(): Promise<Ports> {
  const errors: unknown[] = [];
  const begun: string[] = [];
  const stopped: unknown[] = [];
  const buffered: string[] = [];
  const fallBacks: { path: string; isBegun: boolean }[] = [];

  async function check({ service }: HealthCheckRequest, context: HandlerContext) {
    begun.push(service);
    if (service.includes("headers")) {
      const { requestHeader, responseHeader, responseTrailer } = context;
      responseHeader.set("x-header", requestHeader.get("x-say") ?? "");
      responseHeader.append("set-cookie", "a=1");
      responseHeader.append("set-cookie", "b=2");
      responseTrailer.set("x-trailer", String([...requestHeader.keys()].filter((name) => name.startsWith("x-"))));
    }
    if (service.includes("denied")) {
      const metadata = { "x-error": "e", "grpc-status": "0", "content-type": "text/plain" };
      const error = new ConnectError("100 % denied: ü", 7, metadata);
      error.details.push({ desc: ErrorInfoSchema, value: { reason: "DENIED" } });
      throw error;
    }
    if (service === "bug") throw new TypeError("secret");
    if (service === "unwritable") return { status: "x" as unknown as Status };
    if (service === "unsendable") context.responseHeader.set("no name", "");
    if (service === "long") {
      const bytes = [0x7a, 0xd0, 0x0f, ...new Uint8Array(2000)]; // an unknown field
      return fromBinary(HealthCheckResponseSchema, Uint8Array.from(bytes));
    }
    if (service === "slow") {
      const { signal } = context;
      signal.addEventListener("abort", () => stopped.push(signal.reason));
      await once(signal, "abort");
    }
    return { status: Status.SERVING };
  }

  const open = (fastPath: boolean) =>
    openPort(false, {
      ...rpcCallbacks({
        implementations: [{ service: Health, methods: { check } }],
        layers: [remembers],
        fastPath,
        limits: { readMaxBytes, maxTimeoutMs: 60_000, writeMaxBytes: 1000 },
        onBuffered: (path) => buffered.push(path),
        onFallBack: (path, isBegun) => fallBacks.push({ path, isBegun }),
        onError: (error) => errors.push(error),
      }),
    });
  const [fast, standard] = await Promise.all([open(true), open(false)]);
  return {
    fast,
    standard,
    errors,
    begun,
    stopped,
    fallBacks,
    buffered,
    forget() {
      for (const list of [errors, begun, stopped, fallBacks, buffered]) list.length = 0;
    },
    close: () => Promise.all([fast, standard].map(({ port }) => port.close({ graceMs: 0 }))),
  };
}

/** Answers with a response of its own, as a cache does. */
const remembers: CallInterceptor = (next) => async (request) => {
  if (request.stream || (request.message as HealthCheckRequest).service !== "remembered") return next(request);
  return {
    stream: false,
    service: request.service,
    method: request.method,
    header: new Headers({ "x-header": "remembered" }),
    trailer: new Headers({ "x-trailer": "too" }),
    message: create(HealthCheckResponseSchema, { status: Status.NOT_SERVING }),
  };
};
