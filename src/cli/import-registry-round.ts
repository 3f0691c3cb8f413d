/**
 * One reading of a registry, from end to end: every repository named, or all of the catalog, and every tag of each. What cannot be read is refused
 * with its reason and passed over; what the registry does not have any more is told, and removed only when that is asked for and the list that
 * lacks it was read to its end.
 */
import { ConnectError } from "@connectrpc/connect";
import { isRepositoryName, isTagName, type Registry, RegistryFailure, RegistryRefusal } from "../feeds/index.ts";
import type { Mirror, TagState } from "../server/index.ts";
import { registryContents } from "../services/index.ts";
import type { ReadSession } from "../store/index.ts";

/** Told what becomes of repositories and tags, each by its name: `team/app`, `team/app:v1`. */
export interface RoundReport {
  count(what: "added" | "changed" | "unchanged" | "removed"): void;
  refuse(name: string, reason: string): void;
  /** The registry has it no more, and it stays. */
  gone(name: string): void;
}

/** What a round is about. */
export interface RoundOptions {
  readonly registry: Registry;
  readonly mirror: Mirror;
  readonly read: ReadSession;
  readonly group: string;
  /** Only these; empty: the catalog. */
  readonly repositories: readonly string[];
  /** Whether to remove what the registry does not have. */
  readonly prune: boolean;
  readonly report: RoundReport;
  readonly signal: AbortSignal;
}

/** Tags that are read together. */
const sliceSize = 64;
/** Tags in a row that could not be read, after which the registry counts as gone. */
const maxFailures = 20;

/** Runs a round. Errors: RegistryFailure and RegistryRefusal where the catalog cannot be read or the registry stops answering. */
export async function runRound(options: RoundOptions): Promise<void> {
  const { registry, mirror, read, group, repositories, prune, report, signal } = options;
  const seen = new Set<string>();
  for await (const names of repositories.length > 0 ? [repositories] : registry.repositories()) {
    for (const name of names) {
      signal.throwIfAborted();
      if (seen.has(name)) continue;
      seen.add(name);
      if (isRepositoryName(name)) await mirrorRepository(name, options);
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
        await mirror.removeRepo(uid);
        report.count("removed");
      }
    }
  }
}

/** Mirrors one repository; what is wrong with it alone is refused. */
async function mirrorRepository(name: string, options: RoundOptions): Promise<void> {
  const { registry, mirror, repositories, prune, report } = options;
  try {
    const pages = await registry.tags(name);
    if (pages === undefined && repositories.length > 0) {
      const uid = await mirror.findRepo(name);
      if (uid === undefined) return report.refuse(name, "the registry does not have this repository");
      if (!prune) return report.gone(name);
      await mirror.removeRepo(uid);
      return report.count("removed");
    }
    const { uid, isNew } = await mirror.ensureRepo(name);
    report.count(isNew ? "added" : "unchanged");
    const seen = new Set<string>();
    for await (const names of pages ?? []) await mirrorTags(name, uid, names, seen, options);
    await settleGoneTags(name, uid, seen, options);
  } catch (error) {
    if (error instanceof RegistryLost) throw error;
    report.refuse(name, reasonOf(error));
  }
}

/** The registry has stopped answering: there is no use in going on. */
class RegistryLost extends RegistryFailure {}

async function mirrorTags(
  repository: string,
  repoUid: string,
  names: readonly string[],
  seen: Set<string>,
  { mirror, report, signal }: RoundOptions,
): Promise<void> {
  const refuse = (name: string, reason: string) => report.refuse(`${repository}:${name}`, reason);
  const fresh = [...new Set(names)].filter((name) => !seen.has(name));
  for (const name of fresh.filter((tag) => !isTagName(tag))) refuse(name.slice(0, 300), "is not a tag");
  const valid = fresh.filter(isTagName);
  for (let start = 0; start < valid.length; start += sliceSize) {
    signal.throwIfAborted();
    const outcomes = await mirror.readTags(repository, repoUid, valid.slice(start, start + sliceSize));
    const states: TagState[] = [];
    let failures = 0;
    for (const outcome of outcomes) {
      if ("error" in outcome) {
        signal.throwIfAborted();
        seen.add(outcome.name);
        failures = outcome.error instanceof RegistryFailure ? failures + 1 : 0;
        if (failures === maxFailures) throw new RegistryLost(reasonOf(outcome.error));
        refuse(outcome.name, reasonOf(outcome.error));
      } else if (outcome.state !== undefined) {
        failures = 0;
        seen.add(outcome.name);
        states.push(outcome.state);
      }
    }
    const written = await mirror.writeTags(repoUid, states);
    for (const [i, result] of written.entries()) {
      if (typeof result === "string") report.count(result);
      else refuse(states[i]!.name, result.refused);
    }
  }
}

/** Tags that are stored and that the registry did not list. */
async function settleGoneTags(
  repository: string,
  repoUid: string,
  seen: ReadonlySet<string>,
  { read, mirror, prune, report }: RoundOptions,
): Promise<void> {
  for await (const tags of registryContents.tags(read, repoUid)) {
    const gone = tags.filter(({ name }) => !seen.has(name));
    if (prune) await mirror.removeTags(gone.map(({ uid }) => uid));
    for (const { name } of gone) {
      if (prune) report.count("removed");
      else report.gone(`${repository}:${name}`);
    }
  }
}

/** What to tell of an error; one that is nobody's but ours is thrown on. */
function reasonOf(error: unknown): string {
  const isKnown = error instanceof RegistryFailure || error instanceof RegistryRefusal || error instanceof ConnectError;
  if (!isKnown) throw error;
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return `${error instanceof ConnectError ? error.rawMessage : error.message}${cause}`;
}
