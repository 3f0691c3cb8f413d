/**
 * `POST /registry/notifications`: receives notifications of a registry ("Work with notifications" of the distribution
 * project), so that a push or a delete takes effect at once. The registry authenticates with a secret in the
 * Authorization header.
 *
 * A notification is only a hint: what is written is what the registry answers when it is read. Duplicate, late and
 * reordered notifications do no harm. The response is 200 once everything is applied; after any other response the
 * registry sends the same envelope again. A notification that can never be applied (an invalid repository name, an
 * unknown type of manifest) is logged and counts as applied, so that it does not block those after it.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Registry as TypeRegistry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { completeError, reasonOf, unauthenticated, unavailable } from "../errors.ts";
import {
  type ContainerRegistry,
  isManifestType,
  isRepositoryName,
  isTagName,
  RegistryFailure,
  RegistryRefusal,
} from "../feeds/index.ts";
import type { Endpoint, Endpoints, IncomingBodies } from "../http/index.ts";
import { type Logger, roundMs } from "../log.ts";
import {
  breakOff,
  checkBodyHeaders,
  headerOf,
  type PortRequest,
  type PortResponse,
  Refusal,
  readBody,
  send,
} from "../message/index.ts";
import { callersError, type RecordRegistryEvent } from "../pipeline/index.ts";
import { writeStatus } from "../rest/index.ts";
import { readImages, registryContents } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import { traceIdOf } from "../trace-context.ts";
import { type Notification, notificationTypes, parseNotifications } from "./envelope.ts";
import type { SbomReport } from "./sbom-report.ts";
import { type SbomSynchronizer, subjectOfTag } from "./sboms.ts";
import type { Synchronizer } from "./synchronizer.ts";

/** What {@link createRegistryNotifications} needs. */
export interface RegistryNotificationsOptions {
  readonly secret: string;
  readonly registry: ContainerRegistry;
  readonly registryUrl: string;
  readonly synchronizer: Synchronizer;
  /** Reads bills of materials; undefined to leave them out. */
  readonly sboms: SbomSynchronizer | undefined;
  readonly database: Database;
  /** If absent, pushes and pulls emit no events. */
  readonly recordEvent?: RecordRegistryEvent;
  readonly types: TypeRegistry;
  readonly bodies: IncomingBodies;
  /** Host part of error domains. */
  readonly serviceHost: string;
  /** Reports an error if it is an outage of the database. Returns whether it is. */
  reportOutage(error: unknown): boolean;
  readonly log: Logger;
}

const ownPath = "/registry/notifications";
const maxBodyBytes = 1024 * 1024;
/** Envelopes waiting to be applied. The registry keeps the rest. */
const maxWaiting = 100;
/** Ids of applied notifications that are kept, to skip duplicates. */
const maxAppliedIds = 10_000;
/** How long to wait for a tag to reach the announced state. Not for old notifications. */
const maxTagDelayMs = 2000;
const tagPollMs = 50;
const oldNotificationMs = 60_000;

/** Creates the endpoint. */
export function createRegistryNotifications(options: RegistryNotificationsOptions): Endpoints {
  const {
    secret,
    registry,
    registryUrl,
    synchronizer,
    sboms,
    database,
    recordEvent,
    types,
    bodies,
    serviceHost,
    reportOutage,
    log,
  } = options;
  const host = new URL(registryUrl).host;
  const appliedIds = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  /** Runs tasks one after the other: two for one tag must not interleave between reading and writing. */
  async function serialize(task: () => Promise<void>): Promise<void> {
    if (waiting >= maxWaiting) throw unavailable("too many notifications at once");
    waiting++;
    const ended = last.then(task);
    last = ended.catch(() => {}); // its caller receives the error
    try {
      await ended;
    } finally {
      waiting--;
    }
  }

  async function apply(notification: Notification): Promise<void> {
    if (appliedIds.has(notification.id)) return;
    const { action, repository, tag } = notification;
    try {
      if (!isRepositoryName(repository) || (tag !== undefined && !isTagName(tag)))
        throw new RegistryRefusal("invalid name of a repository or tag");
      if (action === "push") await applyPush(notification);
      else if (action === "delete") await applyDelete(notification);
      else if (action === "pull")
        await record("pull", await synchronizer.findRepo(repository), notification, undefined);
    } catch (error) {
      if (!(error instanceof RegistryRefusal)) throw error;
      log.warn({ reason: error.message, action, repository, tag }, "registry notification skipped");
    }
    if (appliedIds.size >= maxAppliedIds) appliedIds.delete(appliedIds.values().next().value!);
    appliedIds.add(notification.id);
  }

  async function applyPush(notification: Notification): Promise<void> {
    const { repository, tag, digest, mediaType } = notification;
    if (tag === undefined && !isManifestType(mediaType))
      // a blob, which belongs to no manifest yet
      return record("push", await synchronizer.findRepo(repository), notification, undefined);
    const { uid } = await synchronizer.ensureRepo(repository);
    let previous: string | undefined;
    if (tag === undefined) {
      await synchronizer.saveImages(repository, uid, digest);
      await syncSboms(repository, uid, await subjectOf(uid, digest));
    } else previous = await refreshTag(uid, tag, notification, (now) => now === digest);
    await record("push", uid, notification, previous);
  }

  /** The image that an artifact is about. */
  async function subjectOf(repoUid: string, digest: string): Promise<string | undefined> {
    return (await readImages(database.read, repoUid, [digest])).get(digest)?.subject;
  }

  /** Imports the bills of materials of an image, if it is stored. Errors: RegistryFailure. */
  async function syncSboms(repository: string, repoUid: string, digest: string | undefined): Promise<void> {
    if (digest === undefined) return;
    const report: SbomReport = {
      count() {},
      unread() {},
      unversioned() {},
      gone() {},
      refuse: (image, reason) => log.warn({ reason, image }, "bill of materials skipped"),
    };
    await sboms?.sync(repository, repoUid, [digest], { prune: true, maxFailures: 1, report });
  }

  async function applyDelete(notification: Notification): Promise<void> {
    const { repository, tag, digest } = notification;
    const repoUid = await synchronizer.findRepo(repository);
    if (repoUid === undefined) return;
    if (tag !== undefined) {
      await refreshTag(repoUid, tag, notification, (now) => now === undefined);
      return;
    }
    for await (const tags of registryContents.tags(database.read, repoUid, digest))
      for (const { name } of tags) await refreshTag(repoUid, name, notification, (now) => now !== digest);
    if ((await registry.resolveDigest(repository, digest)) !== undefined) return;
    const subject = await subjectOf(repoUid, digest);
    await synchronizer.removeImages(repoUid, digest);
    await syncSboms(repository, repoUid, subject);
  }

  /**
   * Updates a tag to its current state in the registry. Returns its previous digest. The registry sends the
   * notification before it changes the tag, so this waits a moment for the expected state.
   */
  async function refreshTag(
    repoUid: string,
    name: string,
    { repository, timeMs }: Notification,
    isExpected: (digest: string | undefined) => boolean,
  ): Promise<string | undefined> {
    const untilMs = performance.now() + (Date.now() - timeMs < oldNotificationMs ? maxTagDelayMs : 0);
    let state = await synchronizer.readTag(repository, repoUid, name);
    while (!isExpected(state?.digest) && performance.now() < untilMs) {
      await setTimeout(tagPollMs);
      state = await synchronizer.readTag(repository, repoUid, name);
    }
    if (state === undefined) {
      const stored = (await registryContents.tagsNamed(database.read, repoUid, [name])).get(name);
      if (stored !== undefined) await synchronizer.removeTags([stored.uid]);
      await syncSboms(repository, repoUid, subjectOfTag(name));
      return stored?.digest;
    }
    const [written] = await synchronizer.writeTags(repoUid, [state]);
    if (typeof written === "object") throw new RegistryRefusal(written.refused);
    await syncSboms(repository, repoUid, subjectOfTag(name) ?? state.digest);
    return state.stored?.digest;
  }

  async function record(
    kind: "push" | "pull",
    repoUid: string | undefined,
    notification: Notification,
    previousDigest: string | undefined,
  ): Promise<void> {
    if (repoUid === undefined || recordEvent === undefined) return;
    const { id, timeMs, repository, tag, digest, mediaType, method, location, remoteAddress, userAgent } = notification;
    const body = {
      repository,
      repo_id: repoUid,
      ...(tag !== undefined && { tag }),
      digest,
      ...(kind === "pull" && { method }),
      type: isManifestType(mediaType) ? "manifest" : "blob",
      when: new Date(timeMs).toISOString().replace("Z", ""),
      location,
      remote_address: remoteAddress,
      user_agent: userAgent,
      ...(kind === "push" && { display_name: repository }),
      ...(previousDigest !== undefined && previousDigest !== digest && { tag_previous_digest: previousDigest }),
    };
    const attributes = { digest, mediatype: mediaType, image: `${host}/${repository}@${digest}` };
    const type = `dev.platform.registry.${kind}.v1` as const;
    await database.transact((session) =>
      recordEvent(session, { type, source: host, id, timeMs, repoUid, attributes, body }),
    );
  }

  async function receive(request: PortRequest, response: PortResponse): Promise<number> {
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
    const notifications = parseNotifications(await readBody(request, "raw", maxBodyBytes, watch));
    await serialize(async () => {
      for (const notification of notifications) await apply(notification);
    });
    return notifications.length;
  }

  async function serve(request: PortRequest, response: PortResponse): Promise<void> {
    const startMs = performance.now();
    let code = "OK";
    let count = 0;
    try {
      count = await receive(request, response);
      await send(response, { httpStatus: 200, headers: {}, body: "" });
    } catch (reason) {
      const failure = failureOf(reason);
      const error = failure instanceof Refusal ? failure.error : failure;
      code = reasonOf(error.code);
      if (error.code === Code.Internal) log.error({ err: reason, path: ownPath }, "bug");
      else if (!reportOutage(reason) && error.code === Code.Unavailable)
        log.warn({ err: reason }, "registry notification not applied");
      const httpStatus = failure instanceof Refusal ? failure.httpStatus : undefined;
      await writeStatus(response, completeError(error, serviceHost, undefined), { registry: types, httpStatus });
    } finally {
      const ms = roundMs(performance.now() - startMs);
      const requestId = request.headers["x-request-id"];
      log.info({ method: ownPath.slice(1), code, ms, count, requestId, traceId: traceIdOf(request.headers) }, "call");
    }
  }

  const endpoint: Endpoint = (request, response) => {
    serve(request, response).catch(() => breakOff(response));
    return true;
  };
  return { [ownPath]: endpoint };
}

function failureOf(reason: unknown): ConnectError | Refusal {
  if (reason instanceof Refusal) return reason;
  if (reason instanceof RegistryFailure) return unavailable("the registry cannot be read");
  // From the API's own methods: the group named by the settings no longer exists.
  if (reason instanceof ConnectError && reason.code === Code.NotFound) return unavailable(reason.rawMessage);
  const error = callersError(reason);
  return error.code === Code.Aborted ? unavailable("another change came first") : error;
}

/** Compares in constant time. */
function isSecret(header: string | undefined, secret: string): boolean {
  const given = /^Bearer +([!-~]+)$/i.exec(header ?? "")?.[1] ?? "";
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
