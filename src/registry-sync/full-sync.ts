/**
 * A full synchronization: reads the given repositories, or all of the catalog, with all their tags, and what the
 * registry has of the bills of materials of the images that these name.
 *
 * What cannot be read is reported as refused, with the reason, and skipped. What the registry no longer has is reported
 * as gone; it is removed only on request, and only if the list that lacks it was read completely.
 */
import { ConnectError } from "@connectrpc/connect";
import {
  type ContainerRegistry,
  isRepositoryName,
  isTagName,
  RegistryFailure,
  RegistryRefusal,
} from "../feeds/index.ts";
import { registryContents } from "../services/index.ts";
import type { ReadSession } from "../store/index.ts";
import type { SbomReport } from "./sbom-report.ts";
import { type SbomSynchronizer, subjectOfTag } from "./sboms.ts";
import type { Synchronizer, TagState } from "./synchronizer.ts";

/** Receives the results for repositories and tags by name: `team/app`, `team/app:v1`. */
interface SyncReport {
  count(what: "added" | "changed" | "unchanged" | "removed"): void;
  refuse(name: string, reason: string): void;
  /** The registry no longer has it, and it is kept. */
  gone(name: string): void;
  /** Receives the results for images. */
  readonly sboms: Pick<SbomReport, "count" | "unread" | "unversioned">;
}

/** What {@link runFullSync} needs. */
export interface FullSyncOptions {
  readonly registry: ContainerRegistry;
  readonly synchronizer: Synchronizer;
  /** Reads bills of materials; undefined to leave them out. */
  readonly sboms: SbomSynchronizer | undefined;
  readonly read: ReadSession;
  readonly group: string;
  /** Repositories to read; if empty, those of the catalog. */
  readonly repositories: readonly string[];
  /** Whether to remove what the registry no longer has. */
  readonly prune: boolean;
  readonly report: SyncReport;
  readonly signal: AbortSignal;
}

/** Tags read at once. */
const sliceSize = 64;
/** Failures in a row after which the registry counts as unavailable. */
const maxFailures = 20;

/**
 * Runs a full synchronization. Errors: RegistryFailure and RegistryRefusal if the catalog cannot be read or the
 * registry becomes unavailable.
 */
export async function runFullSync(options: FullSyncOptions): Promise<void> {
  const { registry, synchronizer, read, group, repositories, prune, report, signal } = options;
  const seen = new Set<string>();
  for await (const names of repositories.length > 0 ? [repositories] : registry.repositories()) {
    for (const name of names) {
      signal.throwIfAborted();
      if (seen.has(name)) continue;
      seen.add(name);
      if (isRepositoryName(name)) await syncRepository(name, options);
      else report.refuse(JSON.stringify(name.slice(0, 300)), "is not the name of a repository");
    }
  }
  if (repositories.length > 0) return;
  if (seen.size === 0 && prune) return report.refuse("the catalog", "is empty; nothing was removed");
  for await (const repos of registryContents.repos(read, group)) {
    for (const { uid, name } of repos.filter((repo) => !seen.has(repo.name))) {
      signal.throwIfAborted();
      if (!prune) report.gone(name);
      else {
        await synchronizer.removeRepo(uid);
        report.count("removed");
      }
    }
  }
}

/** Synchronizes one repository. Errors of it alone are reported. */
async function syncRepository(name: string, options: FullSyncOptions): Promise<void> {
  const { registry, synchronizer, repositories, prune, report } = options;
  try {
    const pages = await registry.tags(name);
    if (pages === undefined && repositories.length > 0) {
      const uid = await synchronizer.findRepo(name);
      if (uid === undefined) return report.refuse(name, "the registry does not have this repository");
      if (!prune) return report.gone(name);
      await synchronizer.removeRepo(uid);
      return report.count("removed");
    }
    const { uid, isNew } = await synchronizer.ensureRepo(name);
    report.count(isNew ? "added" : "unchanged");
    const seen = new Map<string, string | undefined>();
    for await (const names of pages ?? []) await syncTags(name, uid, names, seen, options);
    await handleGoneTags(name, uid, seen, options);
    await syncSboms(name, uid, seen, options);
  } catch (error) {
    if (error instanceof RegistryUnavailable) throw error;
    report.refuse(name, reasonOf(error));
  }
}

/** The registry no longer answers. Ends the synchronization. */
class RegistryUnavailable extends RegistryFailure {}

/** @param seen digests by tag; undefined if it could not be read. */
async function syncTags(
  repository: string,
  repoUid: string,
  names: readonly string[],
  seen: Map<string, string | undefined>,
  { synchronizer, report, signal }: FullSyncOptions,
): Promise<void> {
  const refuse = (name: string, reason: string) => report.refuse(`${repository}:${name}`, reason);
  const fresh = [...new Set(names)].filter((name) => !seen.has(name));
  for (const name of fresh.filter((tag) => !isTagName(tag))) refuse(name.slice(0, 300), "is not a tag");
  const valid = fresh.filter(isTagName);
  for (let start = 0; start < valid.length; start += sliceSize) {
    signal.throwIfAborted();
    const outcomes = await synchronizer.readTags(repository, repoUid, valid.slice(start, start + sliceSize));
    const states: TagState[] = [];
    let failures = 0;
    for (const outcome of outcomes) {
      if ("error" in outcome) {
        signal.throwIfAborted();
        seen.set(outcome.name, undefined);
        failures = outcome.error instanceof RegistryFailure ? failures + 1 : 0;
        if (failures === maxFailures) throw new RegistryUnavailable(reasonOf(outcome.error));
        refuse(outcome.name, reasonOf(outcome.error));
      } else if (outcome.state !== undefined) {
        failures = 0;
        seen.set(outcome.name, outcome.state.digest);
        states.push(outcome.state);
      }
    }
    const written = await synchronizer.writeTags(repoUid, states);
    for (const [i, result] of written.entries()) {
      if (typeof result === "string") report.count(result);
      else refuse(states[i]!.name, result.refused);
    }
  }
}

/** Removes or reports stored tags that the registry did not list. */
async function handleGoneTags(
  repository: string,
  repoUid: string,
  seen: ReadonlyMap<string, unknown>,
  { read, synchronizer, prune, report }: FullSyncOptions,
): Promise<void> {
  for await (const tags of registryContents.tags(read, repoUid)) {
    const gone = tags.filter(({ name }) => !seen.has(name));
    if (prune) await synchronizer.removeTags(gone.map(({ uid }) => uid));
    for (const { name } of gone) {
      if (prune) report.count("removed");
      else report.gone(`${repository}:${name}`);
    }
  }
}

/** Imports the bills of materials of the images that tags name. Tags for signatures and attestations name none. */
async function syncSboms(
  repository: string,
  repoUid: string,
  seen: ReadonlyMap<string, string | undefined>,
  { sboms, prune, report, signal }: FullSyncOptions,
): Promise<void> {
  const images = [...seen].filter(([name]) => subjectOfTag(name) === undefined).map(([, digest]) => digest);
  const digests = [...new Set(images)].filter((digest) => digest !== undefined);
  await sboms?.sync(repository, repoUid, digests, {
    prune,
    maxFailures,
    report: {
      ...report.sboms,
      gone: (name) => report.gone(`${name}: its bills of materials`),
      refuse(name, reason) {
        signal.throwIfAborted();
        report.refuse(name, reason);
      },
    },
  });
}

/** The reason to report for an error. Rethrows an error that is a bug. */
function reasonOf(error: unknown): string {
  const isKnown = error instanceof RegistryFailure || error instanceof RegistryRefusal || error instanceof ConnectError;
  if (!isKnown) throw error;
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${error instanceof ConnectError ? error.rawMessage : error.message}${cause}`;
}
