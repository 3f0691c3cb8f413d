/**
 * `POST /registry/notifications`: what a registry of the distribution project tells its endpoints (its "Work with notifications"), so that a push or
 * a delete is seen at once. The registry authenticates itself by a secret in the Authorization header.
 *
 * A notification is taken as a hint: what is written is what the registry answers when it is asked, so that notifications that come twice, late or
 * out of order do no harm. 200 is answered when everything is done; on anything else the registry sends the same again. What could never
 * be done (a name that no repo can have, a manifest of an unknown kind) is logged and counts as done, or it would block what comes after.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import type { Registry as TypeRegistry } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { atEdge, reasonOf, unauthenticated, unavailable } from "../errors.ts";
import {
  isManifestType,
  isRepositoryName,
  isTagName,
  type Registry,
  RegistryFailure,
  RegistryRefusal,
} from "../feeds/index.ts";
import type { Logger } from "../log.ts";
import { breakOff, checkBodyHeaders, headerOf, Refusal, readBody, send, writeStatus } from "../rest/index.ts";
import { registryContents } from "../services/index.ts";
import type { Database, WriteSession } from "../store/index.ts";
import type { Endpoint, Endpoints } from "./endpoints.ts";
import type { IncomingBodies } from "./incoming-bodies.ts";
import type { PortRequest, PortResponse } from "./one-port.ts";
import { type Notification, notificationTypes, parseNotifications } from "./registry-envelope.ts";
import type { Mirror } from "./registry-mirror.ts";
import { callersError } from "./store-errors.ts";

/** A push or a pull, for those who subscribe to events. */
export interface RegistryEvent {
  readonly type: "dev.platform.registry.push.v1" | "dev.platform.registry.pull.v1";
  /** The registry's host. */
  readonly source: string;
  /** The registry's own id of it: the same each time it is told. */
  readonly id: string;
  readonly timeMs: number;
  /** The subject. */
  readonly repoUid: string;
  /** Extension attributes beside `group`. */
  readonly attributes: Readonly<Record<"digest" | "mediatype" | "image", string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Records an event in the transaction of a session. */
export type RecordRegistryEvent = (session: WriteSession, event: RegistryEvent) => Promise<void>;

/** What {@link createRegistryNotifications} needs. */
export interface RegistryNotificationsOptions {
  readonly secret: string;
  readonly registry: Registry;
  /** Where the registry is. */
  readonly registryUrl: string;
  readonly mirror: Mirror;
  readonly database: Database;
  /** Absent: nobody is told of pushes and pulls. */
  readonly recordEvent?: RecordRegistryEvent;
  readonly types: TypeRegistry;
  readonly bodies: IncomingBodies;
  /** Host part of error domains. */
  readonly serviceHost: string;
  /** Takes an error of the database's that keeps calls from being answered; false when it is another. */
  reportOutage(error: unknown): boolean;
  readonly log: Logger;
}

const ownPath = "/registry/notifications";
const maxBodyBytes = 1024 * 1024;
/** Envelopes that wait for their turn; the registry keeps the rest. */
const maxWaiting = 100;
/** Notifications whose ids are remembered, so that one that comes twice is done once. */
const maxRemembered = 10_000;
/** How long a tag may take to become what it was said to be; not waited for when the news is old. */
const settlingMs = 2000;
const settlingStepMs = 50;
const oldNewsMs = 60_000;

/** The endpoint of a server. */
export function createRegistryNotifications(options: RegistryNotificationsOptions): Endpoints {
  const {
    secret,
    registry,
    registryUrl,
    mirror,
    database,
    recordEvent,
    types,
    bodies,
    serviceHost,
    reportOutage,
    log,
  } = options;
  const host = new URL(registryUrl).host;
  const done = new Set<string>();
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  /** One after the other: two about one tag must not overtake each other between asking and writing. */
  async function inTurn(work: () => Promise<void>): Promise<void> {
    if (waiting >= maxWaiting) throw unavailable("too many notifications at once");
    waiting++;
    const mine = turn.then(work);
    turn = mine.catch(() => {}); // told to whoever sent it
    try {
      await mine;
    } finally {
      waiting--;
    }
  }

  async function settle(notification: Notification): Promise<void> {
    if (done.has(notification.id)) return;
    const { action, repository, tag } = notification;
    try {
      if (!isRepositoryName(repository) || (tag !== undefined && !isTagName(tag)))
        throw new RegistryRefusal("a name that no repo or tag can have");
      if (action === "push") await settlePush(notification);
      else if (action === "delete") await settleDelete(notification);
      else if (action === "pull") await record("pull", await mirror.findRepo(repository), notification, undefined);
    } catch (error) {
      if (!(error instanceof RegistryRefusal)) throw error;
      log.warn({ reason: error.message, action, repository, tag }, "registry notification skipped");
    }
    if (done.size >= maxRemembered) done.delete(done.values().next().value!);
    done.add(notification.id);
  }

  async function settlePush(notification: Notification): Promise<void> {
    const { repository, tag, digest, mediaType } = notification;
    if (tag === undefined && !isManifestType(mediaType))
      // a blob: it belongs to nothing yet
      return record("push", await mirror.findRepo(repository), notification, undefined);
    const { uid } = await mirror.ensureRepo(repository);
    const previous =
      tag === undefined
        ? void (await mirror.saveImages(repository, uid, digest))
        : await refreshTag(uid, tag, notification, (now) => now === digest);
    await record("push", uid, notification, previous);
  }

  async function settleDelete(notification: Notification): Promise<void> {
    const { repository, tag, digest } = notification;
    const repoUid = await mirror.findRepo(repository);
    if (repoUid === undefined) return;
    if (tag !== undefined) {
      await refreshTag(repoUid, tag, notification, (now) => now === undefined);
      return;
    }
    for await (const tags of registryContents.tags(database.read, repoUid, digest))
      for (const { name } of tags) await refreshTag(repoUid, name, notification, (now) => now !== digest);
    if ((await registry.digestOf(repository, digest)) === undefined) await mirror.forgetImage(repoUid, digest);
  }

  /**
   * Makes a tag what it is in the registry now, and gives the digest that it had. The registry tells of a manifest before it changes the tag, so
   * that what is expected is given a moment to come true.
   */
  async function refreshTag(
    repoUid: string,
    name: string,
    { repository, timeMs }: Notification,
    isExpected: (digest: string | undefined) => boolean,
  ): Promise<string | undefined> {
    const untilMs = performance.now() + (Date.now() - timeMs < oldNewsMs ? settlingMs : 0);
    let state = await mirror.readTag(repository, repoUid, name);
    while (!isExpected(state?.digest) && performance.now() < untilMs) {
      await setTimeout(settlingStepMs);
      state = await mirror.readTag(repository, repoUid, name);
    }
    if (state === undefined) {
      const stored = (await registryContents.tagsNamed(database.read, repoUid, [name])).get(name);
      if (stored !== undefined) await mirror.removeTags([stored.uid]);
      return stored?.digest;
    }
    const [written] = await mirror.writeTags(repoUid, [state]);
    if (typeof written === "object") throw new RegistryRefusal(written.refused);
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

  async function take(request: PortRequest, response: PortResponse): Promise<number> {
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
    await inTurn(async () => {
      for (const notification of notifications) await settle(notification);
    });
    return notifications.length;
  }

  async function serve(request: PortRequest, response: PortResponse): Promise<void> {
    const startMs = performance.now();
    let code = "OK";
    let count = 0;
    try {
      count = await take(request, response);
      await send(response, { httpStatus: 200, headers: {}, body: "" });
    } catch (reason) {
      const failure = failureOf(reason);
      const error = failure instanceof Refusal ? failure.error : failure;
      code = reasonOf(error.code);
      if (error.code === Code.Internal) log.error({ err: reason, path: ownPath }, "bug");
      else if (!reportOutage(reason) && error.code === Code.Unavailable)
        log.warn({ err: reason }, "registry notification not applied");
      const httpStatus = failure instanceof Refusal ? failure.httpStatus : undefined;
      await writeStatus(response, atEdge(error, serviceHost, undefined), { registry: types, httpStatus });
    } finally {
      const ms = Math.round((performance.now() - startMs) * 1000) / 1000;
      log.info({ method: ownPath.slice(1), code, ms, count, requestId: request.headers["x-request-id"] }, "call");
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
  // A refusal by the API's own methods, of what the settings name: a group that is no more.
  if (reason instanceof ConnectError && reason.code === Code.NotFound) return unavailable(reason.rawMessage);
  const error = callersError(reason);
  return error.code === Code.Aborted ? unavailable("another change came first") : error;
}

/** Compares in a time that tells nothing of the secret. */
function isSecret(header: string | undefined, secret: string): boolean {
  const given = /^Bearer +([!-~]+)$/i.exec(header ?? "")?.[1] ?? "";
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
