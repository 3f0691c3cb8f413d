/**
 * Writes repositories and tags of a container registry as repos and tags of a group.
 *
 * Changes go through the API's own methods, called by the operator. The images of a digest are stored with the first
 * tag that names it. The registry is read before the transaction, and always for its current state, so outdated
 * notifications do no harm. A tag with an unchanged digest costs one request and is not written.
 */

import { setTimeout } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "../../gen/platform/registry/v2/tags_pb.ts";
import { type ContainerRegistry, type RegistryImage, RegistryRefusal } from "../feeds/index.ts";
import type { Operator, OperatorCall } from "../pipeline/index.ts";
import { readImages, registryContents, removeImage, type StoredTag, saveImage } from "../services/index.ts";
import type { Database, ReadSession, WriteSession } from "../store/index.ts";

/** What a {@link Synchronizer} needs. */
interface SynchronizerOptions {
  readonly database: Database;
  readonly operator: Operator;
  readonly registry: ContainerRegistry;
  /** The group that holds the repos. */
  readonly group: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A tag in the registry, and what is stored of it. */
export interface TagState {
  readonly name: string;
  readonly digest: string;
  /** The images of the digest that are not stored yet. */
  readonly images: readonly RegistryImage[];
  readonly stored: StoredTag | undefined;
}

/** The result of writing a tag; `refused` is the reason. */
export type Written = "added" | "changed" | "unchanged" | { readonly refused: string };

/** The state of a tag, or the error of reading it. */
type TagOutcome =
  | { readonly name: string; readonly state: TagState | undefined }
  | { readonly name: string; readonly error: unknown };

/** Concurrent requests to the registry. */
const concurrency = 8;
/** A transaction takes no further items after this time, because other writers wait for it. */
const maxHoldMs = 40;

/**
 * Reads the registry and writes the group. Errors of methods that read the registry: those of ContainerRegistry.
 */
export class Synchronizer {
  readonly #read: ReadSession;
  readonly #operator: Operator;
  readonly #registry: ContainerRegistry;
  readonly #group: string;
  readonly #now: () => number;

  constructor({ database, operator, registry, group, now }: SynchronizerOptions) {
    this.#read = database.read;
    this.#operator = operator;
    this.#registry = registry;
    this.#group = group;
    this.#now = now;
  }

  /** The uid of a repo of the group; undefined if there is none with this name. */
  findRepo(name: string): Promise<string | undefined> {
    return registryContents.findRepo(this.#read, this.#group, name);
  }

  /** Finds or creates a repo. Errors: INVALID_ARGUMENT for an invalid name. */
  async ensureRepo(name: string): Promise<{ uid: string; isNew: boolean }> {
    const existing = await this.findRepo(name);
    if (existing !== undefined) return { uid: existing, isNew: false };
    return this.#operator.transact(async (call, session) => {
      const created = await registryContents.findRepo(session, this.#group, name);
      if (created !== undefined) return { uid: created, isNew: false };
      const { uid } = await call(ReposService.method.createRepo, { parent: this.#group, repo: { name } });
      return { uid, isNew: true };
    });
  }

  /** The current state of a tag; undefined if the registry does not have it. */
  async readTag(repository: string, repoUid: string, name: string): Promise<TagState | undefined> {
    const stored = (await registryContents.tagsNamed(this.#read, repoUid, [name])).get(name);
    return this.#readState(repository, repoUid, name, stored, this.#imageReader(repository));
  }

  /** As {@link readTag}, for several tags concurrently. The results are in the order of the names. */
  async readTags(repository: string, repoUid: string, names: readonly string[]): Promise<readonly TagOutcome[]> {
    const stored = await registryContents.tagsNamed(this.#read, repoUid, names);
    const imagesOf = this.#imageReader(repository);
    const outcomes: TagOutcome[] = [];
    const queue = names.entries();
    const worker = async () => {
      for (const [i, name] of queue) {
        outcomes[i] = await this.#readState(repository, repoUid, name, stored.get(name), imagesOf).then(
          (state) => ({ name, state }),
          (error: unknown) => ({ name, error }),
        );
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    return outcomes;
  }

  /** Writes tags in short transactions. The results are in the order of the tags. */
  async writeTags(repoUid: string, tags: readonly TagState[]): Promise<readonly Written[]> {
    const isDone = ({ stored, digest, images }: TagState) => stored?.digest === digest && images.length === 0;
    const pending = tags.filter((tag) => !isDone(tag));
    const written = await this.#inShortTransactions(
      pending,
      async ({ name, digest, images, stored }, call, session) => {
        try {
          if (stored?.digest !== digest) {
            const tag = { name, digest, deprecated: stored?.deprecated ?? false, bundles: stored?.bundles ?? [] };
            await call(TagsService.method.createTag, { parent: repoUid, tag });
          }
        } catch (error) {
          // Validation precedes any write, so the other items of the transaction stay.
          if (ConnectError.from(error).code === Code.InvalidArgument) return { refused: (error as Error).message };
          throw error;
        }
        await this.#saveAll(call, session, repoUid, images);
        if (stored === undefined) return "added" as const;
        return stored.digest === digest ? ("unchanged" as const) : ("changed" as const);
      },
    );
    const outcomes = written.values();
    return tags.map((tag) => (isDone(tag) ? "unchanged" : outcomes.next().value!));
  }

  /** Deletes tags in short transactions. Tags that do not exist are skipped. */
  async removeTags(uids: readonly string[]): Promise<void> {
    await this.#inShortTransactions(uids, (uid, call) => unlessMissing(call(TagsService.method.deleteTag, { uid })));
  }

  /** Deletes a repo with all its tags. */
  async removeRepo(uid: string): Promise<void> {
    for await (const tags of registryContents.tags(this.#read, uid)) await this.removeTags(tags.map((tag) => tag.uid));
    await this.#operator.transact((call) => unlessMissing(call(ReposService.method.deleteRepo, { uid, force: true })));
  }

  /** Stores the images of a digest without a tag; false if the registry does not have it. */
  async saveImages(repository: string, repoUid: string, digest: string): Promise<boolean> {
    if (await this.#isStored(repoUid, digest)) return true;
    const images = await this.#registry.images(repository, digest);
    if (images !== undefined)
      await this.#operator.transact((call, session) => this.#saveAll(call, session, repoUid, images));
    return images !== undefined;
  }

  /** Deletes the images of a digest that the registry no longer has. */
  async removeImages(repoUid: string, digest: string): Promise<void> {
    await this.#operator.transact((_call, session) => removeImage(session, repoUid, digest, this.#now()));
  }

  /** Whether all of an image is stored. Earlier versions have not stored its attestations. */
  async #isStored(repoUid: string, digest: string): Promise<boolean> {
    return (await readImages(this.#read, repoUid, [digest])).get(digest)?.attestations !== undefined;
  }

  async #readState(
    repository: string,
    repoUid: string,
    name: string,
    stored: StoredTag | undefined,
    imagesOf: (digest: string) => Promise<readonly RegistryImage[]>,
  ): Promise<TagState | undefined> {
    const digest = await this.#registry.resolveDigest(repository, name);
    if (digest === undefined) return undefined;
    const isKnown = await this.#isStored(repoUid, digest);
    return { name, digest, images: isKnown ? [] : await imagesOf(digest), stored };
  }

  /** Reads the images of a digest once: many tags of a repo may have the same digest. */
  #imageReader(repository: string) {
    const cached = new Map<string, Promise<readonly RegistryImage[]>>();
    return (digest: string) => {
      let images = cached.get(digest);
      if (images === undefined) {
        images = this.#registry.images(repository, digest).then((found) => {
          if (found === undefined) throw new RegistryRefusal(`the registry does not have ${digest}`);
          return found;
        });
        cached.set(digest, images);
      }
      return images;
    };
  }

  /** Writes items in transactions of bounded length, with a pause of the same length after each for other writers. */
  async #inShortTransactions<T, R>(
    items: readonly T[],
    write: (item: T, call: OperatorCall, session: WriteSession) => Promise<R>,
  ): Promise<R[]> {
    const results: R[] = [];
    while (results.length < items.length) {
      const { done, heldMs } = await this.#operator.transact(async (call, session) => {
        const startMs = performance.now();
        const done: R[] = [];
        for (const item of items.slice(results.length)) {
          done.push(await write(item, call, session));
          if (performance.now() - startMs > maxHoldMs) break;
        }
        return { done, heldMs: performance.now() - startMs };
      });
      for (const result of done) results.push(result);
      if (results.length < items.length) await setTimeout(heldMs);
    }
    return results;
  }

  async #saveAll(call: OperatorCall, session: WriteSession, repoUid: string, images: readonly RegistryImage[]) {
    if (images.length > 0 && !(await registryContents.holdRepo(session, repoUid)))
      await call(ReposService.method.getRepo, { uid: repoUid }); // fails: it was deleted meanwhile
    for (const image of images) await saveImage(session, repoUid, image, this.#now());
  }
}

async function unlessMissing(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (ConnectError.from(error).code !== Code.NotFound) throw error;
  }
}
