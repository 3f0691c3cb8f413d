/** Opens the endpoint for registry notifications, if the settings name a registry. */

import type { Config } from "../config/index.ts";
import { ContainerRegistry, readSbomOnThread } from "../feeds/index.ts";
import type { Endpoints } from "../http/index.ts";
import { createOperator, type OperatorOptions } from "../pipeline/index.ts";
import { createRegistryNotifications, type RegistryNotificationsOptions } from "./notifications.ts";
import { SbomSynchronizer } from "./sboms.ts";
import { Synchronizer } from "./synchronizer.ts";

/** What {@link openNotifications} needs beside the settings. */
interface NotificationParts extends Pick<RegistryNotificationsOptions, "bodies" | "calls" | "log" | "recordEvent"> {
  readonly operator: Omit<OperatorOptions, "subject">;
}

/** The endpoint, and its connections to the registry. */
interface OpenNotifications {
  readonly endpoints: Endpoints;
  close(): Promise<void>;
}

/** The caller that audit log and events name for changes reported by the registry. */
const subject = "registry";
/** Size limit of a bill of materials. One that is read takes several times its size of the memory of the server. */
const maxSbomBytes = 32 * 1024 * 1024;

/** Opens the endpoint; undefined if the settings name no registry. */
export function openNotifications(
  { registryUrl, registryGroup, registrySecret, registryCredentials, registrySboms }: Config,
  { operator: parts, ...rest }: NotificationParts,
): OpenNotifications | undefined {
  if (registryUrl === undefined || registryGroup === undefined || registrySecret === undefined) return undefined;
  // No retries here: the registry sends a failed notification again.
  const registry = new ContainerRegistry(registryUrl, { credentials: registryCredentials, maxAttempts: 1 });
  const { database, now } = parts;
  const operator = createOperator({ ...parts, subject });
  const synchronizer = new Synchronizer({ database, operator, registry, group: registryGroup, now });
  const sboms =
    registrySboms === "off"
      ? undefined
      : new SbomSynchronizer({ database, registry, read: readSbomOnThread, maxBytes: maxSbomBytes, now });
  const endpoints = createRegistryNotifications({
    ...rest,
    secret: registrySecret,
    registry,
    registryUrl,
    synchronizer,
    sboms,
    database,
  });
  return { endpoints, close: () => registry.close() };
}
