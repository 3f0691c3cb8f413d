/**
 * Applies notifications of a registry. A notification is only a hint: what is written is what the registry answers when
 * it is read. Duplicate, late and reordered notifications do no harm. One that can never be applied (an invalid
 * repository name, an unknown type of manifest) is logged and counts as applied, so that it does not block those after
 * it.
 */
import { setTimeout } from "node:timers/promises";
import { unavailable } from "../errors.ts";
import {
  type ContainerRegistry,
  isManifestType,
  isRepositoryName,
  isTagName,
  RegistryRefusal,
} from "../feeds/index.ts";
import type { Logger } from "../log.ts";
import type { RecordRegistryEvent } from "../pipeline/index.ts";
import { readImages, registryContents } from "../services/index.ts";
import type { Database } from "../store/index.ts";
import type { Notification } from "./envelope.ts";
import type { SbomReport } from "./sbom-report.ts";
import { type SbomSynchronizer, subjectOfTag } from "./sboms.ts";
import type { Synchronizer } from "./synchronizer.ts";

/** What {@link NotificationApplier} needs. */
export interface ApplierOptions {
  readonly registry: ContainerRegistry;
  readonly registryUrl: string;
  readonly synchronizer: Synchronizer;
  /** Reads bills of materials; undefined to leave them out. */
  readonly sboms: SbomSynchronizer | undefined;
  readonly database: Database;
  /** If absent, pushes and pulls emit no events. */
  readonly recordEvent?: RecordRegistryEvent;
  readonly log: Logger;
}

/** Envelopes waiting to be applied. The registry keeps the rest. */
const maxWaiting = 100;
/** Ids of applied notifications that are kept, to skip duplicates. */
const maxAppliedIds = 10_000;
/** How long to wait for a tag to reach the announced state. Not for old notifications. */
const maxTagDelayMs = 2000;
const tagPollMs = 50;
const oldNotificationMs = 60_000;

/** Applies notifications. */
export class NotificationApplier {
  readonly #options: ApplierOptions;
  readonly #synchronizer: Synchronizer;
  readonly #appliedIds = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: ApplierOptions) {
    this.#options = options;
    this.#synchronizer = options.synchronizer;
  }

  /**
   * Applies those of one envelope. Errors: UNAVAILABLE if too many wait; RegistryFailure; those of the methods that
   * change repos and tags.
   */
  apply(notifications: readonly Notification[]): Promise<void> {
    return this.#serialize(async () => {
      for (const notification of notifications) await this.#apply(notification);
    });
  }

  /** Runs tasks one after the other: two for one tag must not interleave between reading and writing. */
  async #serialize(task: () => Promise<void>): Promise<void> {
    if (this.#waiting >= maxWaiting) throw unavailable("too many notifications at once");
    this.#waiting++;
    const ended = this.#last.then(task);
    this.#last = ended.catch(() => {}); // its caller receives the error
    try {
      await ended;
    } finally {
      this.#waiting--;
    }
  }

  async #apply(notification: Notification): Promise<void> {
    if (this.#appliedIds.has(notification.id)) return;
    const { action, repository, tag } = notification;
    try {
      if (!isRepositoryName(repository) || (tag !== undefined && !isTagName(tag)))
        throw new RegistryRefusal("invalid name of a repository or tag");
      if (action === "push") await this.#applyPush(notification);
      else if (action === "delete") await this.#applyDelete(notification);
      else if (action === "pull")
        await this.#record("pull", await this.#synchronizer.findRepo(repository), notification, undefined);
    } catch (error) {
      if (!(error instanceof RegistryRefusal)) throw error;
      this.#options.log.warn({ reason: error.message, action, repository, tag }, "registry notification skipped");
    }
    if (this.#appliedIds.size >= maxAppliedIds) this.#appliedIds.delete(this.#appliedIds.values().next().value!);
    this.#appliedIds.add(notification.id);
  }

  async #applyPush(notification: Notification): Promise<void> {
    const { repository, tag, digest, mediaType } = notification;
    if (tag === undefined && !isManifestType(mediaType))
      // a blob, which belongs to no manifest yet
      return this.#record("push", await this.#synchronizer.findRepo(repository), notification, undefined);
    const { uid } = await this.#synchronizer.ensureRepo(repository);
    let previous: string | undefined;
    if (tag === undefined) {
      await this.#synchronizer.saveImages(repository, uid, digest);
      await this.#syncSboms(repository, uid, await this.#subjectOf(uid, digest));
    } else previous = await this.#refreshTag(uid, tag, notification, (now) => now === digest);
    await this.#record("push", uid, notification, previous);
  }

  /** The image that an artifact is about. */
  async #subjectOf(repoUid: string, digest: string): Promise<string | undefined> {
    return (await readImages(this.#options.database.read, repoUid, [digest])).get(digest)?.subject;
  }

  /** Imports the bills of materials of an image, if it is stored. Errors: RegistryFailure. */
  async #syncSboms(repository: string, repoUid: string, digest: string | undefined): Promise<void> {
    if (digest === undefined) return;
    const report: SbomReport = {
      count() {},
      unread() {},
      unversioned() {},
      gone() {},
      refuse: (image, reason) => this.#options.log.warn({ reason, image }, "bill of materials skipped"),
    };
    await this.#options.sboms?.sync(repository, repoUid, [digest], { prune: true, maxFailures: 1, report });
  }

  async #applyDelete(notification: Notification): Promise<void> {
    const { repository, tag, digest } = notification;
    const repoUid = await this.#synchronizer.findRepo(repository);
    if (repoUid === undefined) return;
    if (tag !== undefined) {
      await this.#refreshTag(repoUid, tag, notification, (now) => now === undefined);
      return;
    }
    for await (const tags of registryContents.tags(this.#options.database.read, repoUid, digest))
      for (const { name } of tags) await this.#refreshTag(repoUid, name, notification, (now) => now !== digest);
    if ((await this.#options.registry.resolveDigest(repository, digest)) !== undefined) return;
    const subject = await this.#subjectOf(repoUid, digest);
    await this.#synchronizer.removeImages(repoUid, digest);
    await this.#syncSboms(repository, repoUid, subject);
  }

  /**
   * Updates a tag to its current state in the registry. Returns its previous digest. The registry sends the
   * notification before it changes the tag, so this waits a moment for the expected state.
   */
  async #refreshTag(
    repoUid: string,
    name: string,
    { repository, timeMs }: Notification,
    isExpected: (digest: string | undefined) => boolean,
  ): Promise<string | undefined> {
    const untilMs = performance.now() + (Date.now() - timeMs < oldNotificationMs ? maxTagDelayMs : 0);
    let state = await this.#synchronizer.readTag(repository, repoUid, name);
    while (!isExpected(state?.digest) && performance.now() < untilMs) {
      await setTimeout(tagPollMs);
      state = await this.#synchronizer.readTag(repository, repoUid, name);
    }
    if (state === undefined) {
      const stored = (await registryContents.tagsNamed(this.#options.database.read, repoUid, [name])).get(name);
      if (stored !== undefined) await this.#synchronizer.removeTags([stored.uid]);
      await this.#syncSboms(repository, repoUid, subjectOfTag(name));
      return stored?.digest;
    }
    const [written] = await this.#synchronizer.writeTags(repoUid, [state]);
    if (typeof written === "object") throw new RegistryRefusal(written.refused);
    await this.#syncSboms(repository, repoUid, subjectOfTag(name) ?? state.digest);
    return state.stored?.digest;
  }

  async #record(
    kind: "push" | "pull",
    repoUid: string | undefined,
    notification: Notification,
    previousDigest: string | undefined,
  ): Promise<void> {
    const { recordEvent, registryUrl } = this.#options;
    if (repoUid === undefined || recordEvent === undefined) return;
    const { host } = new URL(registryUrl);
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
    await this.#options.database.transact((session) =>
      recordEvent(session, { type, source: host, id, timeMs, repoUid, attributes, body }),
    );
  }
}
