/**
 * A registry's repositories and tags, kept as repos and tags of a group.
 *
 * What changes goes through the API's own methods, called by the operator; what is known of a digest is stored with the first tag that names it.
 * The registry is asked before the transaction, and always for what is so now, so that old news does no harm. A tag whose digest is as it
 * was costs one request and is not written.
 */
import { setTimeout } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { ReposService } from "../../gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "../../gen/platform/registry/v2/tags_pb.ts";
import { type Registry, type RegistryImage, RegistryRefusal } from "../feeds/index.ts";
import { readImages, registryContents, removeImage, type StoredTag, saveImage } from "../services/index.ts";
import type { Database, WriteSession } from "../store/index.ts";
import type { Operator, OperatorCall } from "./operator.ts";

/** What a mirror is between. */
export interface MirrorOptions {
  readonly database: Database;
  readonly operator: Operator;
  readonly registry: Registry;
  /** The group that holds the repos. */
  readonly group: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A tag as the registry has it, and what must be stored with it. */
export interface TagState {
  readonly name: string;
  readonly digest: string;
  /** What is not known yet of the digest. */
  readonly images: readonly RegistryImage[];
  readonly stored: StoredTag | undefined;
}

/** What writing a tag came to; a refusal gives its reason. */
export type Written = "added" | "changed" | "unchanged" | { readonly refused: string };

/** Reads the registry and writes the group. Errors of what asks the registry: as `Registry`. */
export interface Mirror {
  /** The uid of a repo of the group. */
  findRepo(name: string): Promise<string | undefined>;
  /** The repo of that name, made where it is missing. Errors: INVALID_ARGUMENT for a name that no repo can have. */
  ensureRepo(name: string): Promise<{ uid: string; isNew: boolean }>;
  /** The tag of that name as the registry has it now; undefined where it has none. */
  readTag(repository: string, repoUid: string, name: string): Promise<TagState | undefined>;
  /** As {@link readTag}, of several tags at once, each as it ends. */
  readTags(repository: string, repoUid: string, names: readonly string[]): Promise<readonly TagOutcome[]>;
  /** Writes tags, a few in each transaction; in the order given. */
  writeTags(repoUid: string, tags: readonly TagState[]): Promise<readonly Written[]>;
  /** Deletes tags, a few in each transaction; those that are gone already do no harm. */
  removeTags(uids: readonly string[]): Promise<void>;
  /** Deletes a repo with all its tags. */
  removeRepo(uid: string): Promise<void>;
  /** Stores what a digest stands for, without a tag; false where the registry does not hold it. */
  saveImages(repository: string, repoUid: string, digest: string): Promise<boolean>;
  /** Forgets a digest that the registry does not hold any more. */
  forgetImage(repoUid: string, digest: string): Promise<void>;
}

/** A tag that was read, or why it could not be. */
export type TagOutcome =
  | { readonly name: string; readonly state: TagState | undefined }
  | { readonly name: string; readonly error: unknown };

/** Requests to the registry that are under way at once. */
const concurrency = 8;
/** How long one transaction goes on taking tags: whoever else writes waits for it. */
const maxHoldMs = 40;

/** Creates a mirror. */
export function createMirror({ database, operator, registry, group, now }: MirrorOptions): Mirror {
  const { read } = database;

  async function readState(
    repository: string,
    repoUid: string,
    name: string,
    stored: StoredTag | undefined,
    imagesOf: (digest: string) => Promise<readonly RegistryImage[]>,
  ): Promise<TagState | undefined> {
    const digest = await registry.digestOf(repository, name);
    if (digest === undefined) return undefined;
    const isKnown = (await readImages(read, repoUid, [digest])).has(digest);
    return { name, digest, images: isKnown ? [] : await imagesOf(digest), stored };
  }

  /** Asks once for each digest: many tags of a repo may name the same. */
  function imageReader(repository: string) {
    const asked = new Map<string, Promise<readonly RegistryImage[]>>();
    return (digest: string) => {
      let images = asked.get(digest);
      if (images === undefined) {
        images = registry.images(repository, digest).then((found) => {
          if (found === undefined) throw new RegistryRefusal(`the registry does not hold ${digest}`);
          return found;
        });
        asked.set(digest, images);
      }
      return images;
    };
  }

  /** Takes items in transactions of a bounded length, with a pause as long after each: the server writes, too. */
  async function inTurns<T, R>(
    items: readonly T[],
    write: (item: T, call: OperatorCall, session: WriteSession) => Promise<R>,
  ): Promise<R[]> {
    const results: R[] = [];
    while (results.length < items.length) {
      const { done, heldMs } = await operator.transact(async (call, session) => {
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

  async function saveAll(call: OperatorCall, session: WriteSession, repoUid: string, images: readonly RegistryImage[]) {
    if (images.length > 0) await call(ReposService.method.getRepo, { uid: repoUid }); // it may have been deleted by now
    for (const image of images) await saveImage(session, repoUid, image, now());
  }

  const mirror: Mirror = {
    findRepo: (name) => registryContents.findRepo(read, group, name),

    async ensureRepo(name) {
      const known = await mirror.findRepo(name);
      if (known !== undefined) return { uid: known, isNew: false };
      return operator.transact(async (call, session) => {
        const made = await registryContents.findRepo(session, group, name);
        if (made !== undefined) return { uid: made, isNew: false };
        const { uid } = await call(ReposService.method.createRepo, { parent: group, repo: { name } });
        return { uid, isNew: true };
      });
    },

    async readTag(repository, repoUid, name) {
      const stored = (await registryContents.tagsNamed(read, repoUid, [name])).get(name);
      return readState(repository, repoUid, name, stored, imageReader(repository));
    },

    async readTags(repository, repoUid, names) {
      const stored = await registryContents.tagsNamed(read, repoUid, names);
      const imagesOf = imageReader(repository);
      const outcomes: TagOutcome[] = [];
      const queue = names.entries();
      const worker = async () => {
        for (const [i, name] of queue) {
          outcomes[i] = await readState(repository, repoUid, name, stored.get(name), imagesOf).then(
            (state) => ({ name, state }),
            (error: unknown) => ({ name, error }),
          );
        }
      };
      await Promise.all(Array.from({ length: concurrency }, worker));
      return outcomes;
    },

    async writeTags(repoUid, tags) {
      const isDone = ({ stored, digest, images }: TagState) => stored?.digest === digest && images.length === 0;
      const pending = tags.filter((tag) => !isDone(tag));
      const written = await inTurns(pending, async ({ name, digest, images, stored }, call, session) => {
        try {
          if (stored?.digest !== digest) {
            const tag = { name, digest, deprecated: stored?.deprecated ?? false, bundles: stored?.bundles ?? [] };
            await call(TagsService.method.createTag, { parent: repoUid, tag });
          }
        } catch (error) {
          // The rules are checked before anything is written, so that the others of the transaction stay.
          if (ConnectError.from(error).code === Code.InvalidArgument) return { refused: (error as Error).message };
          throw error;
        }
        await saveAll(call, session, repoUid, images);
        return stored === undefined ? ("added" as const) : ("changed" as const);
      });
      const outcomes = written.values();
      return tags.map((tag) => (isDone(tag) ? "unchanged" : outcomes.next().value!));
    },

    async removeTags(uids) {
      await inTurns(uids, (uid, call) => unlessMissing(call(TagsService.method.deleteTag, { uid })));
    },

    async removeRepo(uid) {
      for await (const tags of registryContents.tags(read, uid)) await mirror.removeTags(tags.map((tag) => tag.uid));
      await operator.transact((call) => unlessMissing(call(ReposService.method.deleteRepo, { uid, force: true })));
    },

    async saveImages(repository, repoUid, digest) {
      if ((await readImages(read, repoUid, [digest])).has(digest)) return true;
      const images = await registry.images(repository, digest);
      if (images !== undefined) await operator.transact((call, session) => saveAll(call, session, repoUid, images));
      return images !== undefined;
    },

    async forgetImage(repoUid, digest) {
      await operator.transact((_call, session) => removeImage(session, repoUid, digest));
    },
  };
  return mirror;
}

async function unlessMissing(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (ConnectError.from(error).code !== Code.NotFound) throw error;
  }
}
