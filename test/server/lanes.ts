/** Two ports that serve the same calls, one by the fast lane and one by the full door alone, and what happened behind them. */
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
import type { Layer } from "../../src/layer.ts";
import { type OpenPort, openPort } from "./open-port.ts";
import { rpcDoors } from "./rpc-doors.ts";

/** The method that is served. Its request's `service` says how it is to be answered. */
export const checkPath = "/grpc.health.v1.Health/Check";

/** Bytes of a message that comes in. */
export const readMaxBytes = 4096;

/** The ports, and what has happened since {@link Lanes.forget}. */
export interface Lanes {
  readonly fast: OpenPort;
  readonly full: OpenPort;
  /** What the doors told their operator. */
  readonly errors: unknown[];
  /** What calls that the handler has begun asked for. */
  readonly begun: string[];
  /** Why handlers were told to stop. */
  readonly stopped: unknown[];
  /** What the fast lane has not answered. `isHandedBack`: it had read it. */
  readonly fullDoor: { readonly path: string; readonly isHandedBack: boolean }[];
  /** Paths of what the fast lane took whole. */
  readonly whole: string[];
  forget(): void;
  close(): Promise<unknown>;
}

/** Opens the two. */
export async function openLanes(): Promise<Lanes> {
  const errors: unknown[] = [];
  const begun: string[] = [];
  const stopped: unknown[] = [];
  const whole: string[] = [];
  const fullDoor: { path: string; isHandedBack: boolean }[] = [];

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

  const open = (hasFastLane: boolean) =>
    openPort(false, {
      ...rpcDoors({
        implementations: [{ service: Health, methods: { check } }],
        layers: [remembers],
        hasFastLane,
        limits: { readMaxBytes, maxTimeoutMs: 60_000, writeMaxBytes: 1000 },
        onWhole: (path) => whole.push(path),
        onFullDoor: (path, isHandedBack) => fullDoor.push({ path, isHandedBack }),
        onError: (error) => errors.push(error),
      }),
    });
  const [fast, full] = await Promise.all([open(true), open(false)]);
  return {
    fast,
    full,
    errors,
    begun,
    stopped,
    fullDoor,
    whole,
    forget() {
      for (const list of [errors, begun, stopped, fullDoor, whole]) list.length = 0;
    },
    close: () => Promise.all([fast, full].map(({ port }) => port.close({ graceMs: 0 }))),
  };
}

/** Answers in a response of its own, as one that remembers answers does. */
const remembers: Layer = (next) => async (request) => {
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
