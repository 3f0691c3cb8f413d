/**
 * registry-sync: keeps the repositories and tags of a container registry as repos and tags of a group, with the
 * packages of their images (`sboms.ts`), by notifications from the registry (`endpoint.ts`) and by reading all of it
 * (`full-sync.ts`).
 *
 * Notifications are only hints: what is written is what the registry answers when it is read. Changes go through the
 * API's own methods.
 */
export { openNotifications } from "./endpoint.ts";
export { notificationMethod } from "./envelope.ts";
export { type FullSyncOptions, runFullSync } from "./full-sync.ts";
export { SbomSynchronizer } from "./sboms.ts";
export { Synchronizer } from "./synchronizer.ts";
