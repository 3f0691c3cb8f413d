/** The endpoint for a registry's notifications, made of the settings where they name a registry. */
import type { Config } from "../config.ts";
import type { Endpoints } from "./endpoints.ts";
import { createOperator, type OperatorOptions } from "./operator.ts";
import type { RegistryNotificationsOptions } from "./registry-notifications.ts";

/** What {@link openNotifications} needs beside the settings. */
export interface NotificationParts
  extends Pick<
    RegistryNotificationsOptions,
    "types" | "bodies" | "serviceHost" | "log" | "recordEvent" | "reportOutage"
  > {
  readonly operator: Omit<OperatorOptions, "subject">;
}

/** An endpoint, and the connections to its registry. */
export interface OpenNotifications {
  readonly endpoints: Endpoints;
  close(): Promise<void>;
}

/** Whom audit and events name for what a registry reports. */
const subject = "registry";

/** The endpoint; undefined where the settings name no registry. Its parts are loaded only then. */
export async function openNotifications(
  { registryUrl, registryGroup, registrySecret, registryCredentials }: Config,
  { operator: parts, ...rest }: NotificationParts,
): Promise<OpenNotifications | undefined> {
  if (registryUrl === undefined || registryGroup === undefined || registrySecret === undefined) return undefined;
  const [{ openRegistry }, { createMirror }, { createRegistryNotifications }] = await Promise.all([
    import("../feeds/index.ts"),
    import("./registry-mirror.ts"),
    import("./registry-notifications.ts"),
  ]);
  // The registry sends again what could not be done, so that nothing is tried twice here.
  const registry = openRegistry(registryUrl, { credentials: registryCredentials, maxAttempts: 1 });
  const { database, now } = parts;
  const operator = createOperator({ ...parts, subject });
  const mirror = createMirror({ database, operator, registry, group: registryGroup, now });
  const endpoints = createRegistryNotifications({
    ...rest,
    secret: registrySecret,
    registry,
    registryUrl,
    mirror,
    database,
  });
  return { endpoints, close: () => registry.close() };
}
