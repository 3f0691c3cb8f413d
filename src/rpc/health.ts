/**
 * `grpc.health.v1.Health`, the gRPC health checking protocol: the server as a whole under the empty name, and each
 * service under its own. All share one status, because here a service is served exactly when the server serves.
 */
import { Code, ConnectError, type ConnectRouter, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { notFound } from "../errors.ts";
import { unverifiedBytes } from "../http/index.ts";

/** The health of the server, and the service that reports it. */
export interface HealthState {
  readonly implementation: ServiceImpl<typeof Health>;
  readonly isServing: boolean;
  /** Whether somebody watches it now. */
  readonly isWatched: boolean;
  /** Notifies watchers at once. */
  setServing(isServing: boolean): void;
}

/**
 * Health of a server with these services (type names), at first not serving. `shutdown` ends watches with the
 * ConnectError that is its reason. `onCheck` is called when somebody asks.
 */
export function createHealth(services: Iterable<string>, shutdown: AbortSignal, onCheck = () => {}): HealthState {
  const names = new Set(["", ...services]);
  let isServing = false;
  let watchers = 0;
  let change = Promise.withResolvers<void>();

  const statusOf = (service: string) => {
    if (!names.has(service)) return undefined;
    return isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  };

  const implementation: ServiceImpl<typeof Health> = {
    /** Errors: NOT_FOUND. */
    check({ service }: HealthCheckRequest) {
      onCheck();
      const status = statusOf(service);
      if (status === undefined) throw notFound({ type: "grpc.health.v1/Service", uid: service });
      return { status };
    },

    /** An unknown service is SERVICE_UNKNOWN and stays watched, as the protocol requires. */
    async *watch({ service }: HealthCheckRequest, context: HandlerContext) {
      const signal = AbortSignal.any([context.signal, shutdown]);
      const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      watchers++;
      try {
        for (let last: ServingStatus | undefined; !signal.aborted; ) {
          const changed = change.promise;
          const status = statusOf(service) ?? ServingStatus.SERVICE_UNKNOWN;
          if (status !== last) yield { status };
          last = status;
          await Promise.race([changed, aborted]);
        }
      } finally {
        watchers--;
      }
      throw ConnectError.from(signal.reason, Code.Canceled);
    },

    list() {
      return { statuses: Object.fromEntries([...names].map((name) => [name, { status: statusOf(name)! }])) };
    },
  };

  return {
    implementation,
    get isServing() {
      return isServing;
    },
    get isWatched() {
      return watchers > 0;
    },
    setServing(value) {
      isServing = value;
      change.resolve();
      change = Promise.withResolvers();
    },
  };
}

/** Mounts the health service on a router. */
export function mountHealth(router: ConnectRouter, { implementation }: HealthState): void {
  router.service(Health, implementation, { readMaxBytes: unverifiedBytes });
}
