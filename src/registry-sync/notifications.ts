/**
 * `POST /registry/notifications`: receives notifications of a registry ("Work with notifications" of the distribution
 * project), so that a push or a delete takes effect at once. The registry authenticates with a secret in the
 * Authorization header. The response is 200 once everything is applied; after any other response the registry sends the
 * same envelope again.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { unauthenticated, unavailable } from "../errors.ts";
import { RegistryFailure } from "../feeds/index.ts";
import type { Endpoints, IncomingBodies } from "../http/index.ts";
import { checkBodyHeaders, headerOf, Refusal, readBody } from "../message/index.ts";
import { callersError, type EndpointCalls, isOutage, type RunningCall } from "../pipeline/index.ts";
import { type ApplierOptions, NotificationApplier } from "./applier.ts";
import { type Notification, notificationMethod, notificationTypes, parseNotifications } from "./envelope.ts";

/** What {@link createRegistryNotifications} needs. */
export interface RegistryNotificationsOptions extends ApplierOptions {
  readonly secret: string;
  readonly bodies: IncomingBodies;
  readonly calls: EndpointCalls;
}

const maxBodyBytes = 1024 * 1024;

/** Creates the endpoint. */
export function createRegistryNotifications(options: RegistryNotificationsOptions): Endpoints {
  const { secret, bodies, calls, log } = options;
  const applier = new NotificationApplier(options);

  async function receive({ request, response }: RunningCall): Promise<readonly Notification[]> {
    if (request.method !== "POST")
      throw new Refusal(405, Code.Unimplemented, "Method not allowed: this path takes POST", { allow: "POST" });
    if (!isSecret(headerOf(request, "authorization"), secret))
      throw unauthenticated("missing or wrong registry secret");
    checkBodyHeaders(request, "raw", maxBodyBytes);
    const [type = ""] = (headerOf(request, "content-type") ?? "").split(";");
    if (!notificationTypes.includes(type.trim().toLowerCase())) {
      const accept = notificationTypes.join(", ");
      throw new Refusal(415, Code.InvalidArgument, `Invalid argument: the body must be one of ${accept}`, { accept });
    }
    const watch = bodies.watch(request, response, "verified");
    return parseNotifications(await readBody(request, "raw", maxBodyBytes, watch));
  }

  async function apply(notifications: readonly Notification[]): Promise<void> {
    try {
      await applier.apply(notifications);
    } catch (reason) {
      const failure = failureOf(reason);
      if (callersError(failure).code === Code.Unavailable && !isOutage(reason))
        log.warn({ err: reason }, "registry notification not applied");
      throw failure;
    }
  }

  return {
    [`/${notificationMethod}`](request, response) {
      calls.serve(request, response, {
        method: notificationMethod,
        async work(running) {
          const notifications = await receive(running);
          await apply(notifications);
          running.count = notifications.length;
          return { httpStatus: 200, headers: {}, body: "" };
        },
      });
      return true;
    },
  };
}

/** The answer to the registry after a failure. It sends again what is UNAVAILABLE. */
function failureOf(reason: unknown): unknown {
  if (reason instanceof RegistryFailure) return unavailable("the registry cannot be read");
  const { code, rawMessage } = callersError(reason);
  // From the API's own methods: the group named by the settings no longer exists.
  if (reason instanceof ConnectError && code === Code.NotFound) return unavailable(rawMessage);
  return code === Code.Aborted ? unavailable("another change came first") : reason;
}

/** Compares in constant time. */
function isSecret(header: string | undefined, secret: string): boolean {
  const given = /^Bearer +([!-~]+)$/i.exec(header ?? "")?.[1] ?? "";
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
