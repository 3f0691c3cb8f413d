/** The packages in images that are named by a repo, by its uid or name, and a tag. */
import type { ReadSession } from "../../store/index.ts";
import { covers, isUid } from "../../uid.ts";
import { type ImagePackage, readImagePackages } from "./image-packages.ts";
import { repos } from "./repos.ts";
import { tags } from "./tags.ts";

/** The name of an image. */
interface ImageName {
  /** The uid or the name of a repo. */
  readonly repo: string;
  readonly tag: string;
}

/** What was found for the name of an image. */
export interface NamedImage {
  /** Absent when no repo that the caller may see has the name. */
  readonly repoUid?: string;
  /** Whether several repos have the name. */
  readonly isAmbiguous: boolean;
  /** The digest of the tag; absent when there is no such tag. */
  readonly digest?: string;
  /** The packages of the digest; absent when it has no bill of materials. */
  readonly packages?: readonly ImagePackage[];
}

/** The packages of images in these scopes, in the order of the names. */
export async function namedPackages(
  session: ReadSession,
  images: readonly ImageName[],
  scopes: readonly string[],
): Promise<readonly NamedImage[]> {
  const found = new Map<string, readonly string[]>();
  for (const { repo } of images) if (!found.has(repo)) found.set(repo, await findRepos(session, repo, scopes));
  const held = new Map<string, Awaited<ReturnType<typeof tagged>>>();
  for (const [repo, uids] of found) {
    const names = images.filter((image) => image.repo === repo).map(({ tag }) => tag);
    if (uids.length === 1) held.set(repo, await tagged(session, uids[0]!, [...new Set(names)]));
  }
  return images.map(({ repo, tag }) => {
    const [repoUid, other] = found.get(repo) ?? [];
    const isAmbiguous = other !== undefined;
    return { ...(repoUid !== undefined && { repoUid }), isAmbiguous, ...held.get(repo)?.get(tag) };
  });
}

/** The uids of the repos in these scopes with this uid or name; at most two. */
export async function findRepos(session: ReadSession, repo: string, scopes: readonly string[]): Promise<string[]> {
  if (isUid(repo)) {
    const isVisible =
      scopes.some((scope) => covers(scope, repo)) && (await session.get(repos.table, repo)) !== undefined;
    return isVisible ? [repo] : [];
  }
  const within = scopes.map((root) => ({ root, self: true }));
  const where = [{ column: "name", equals: repo }];
  const query = { ...(!scopes.includes("") && { within }), where, limit: 2 };
  return (await session.list(repos.table, query)).map(({ uid }) => uid);
}

/** The digests and packages of tags of one repo, by tag. */
async function tagged(session: ReadSession, repoUid: string, names: readonly string[]) {
  const where = [{ column: "name", in: names }];
  const rows = await session.list(tags.table, { parent: repoUid, where, limit: names.length });
  const digests = new Map(rows.map(({ columns }) => [columns.name as string, columns.digest as string]));
  const lists = await readImagePackages(session, repoUid, [...new Set(digests.values())]);
  return new Map(
    [...digests].map(([name, digest]) => {
      const packages = lists.get(digest);
      return [name, { digest, ...(packages && { packages }) }];
    }),
  );
}
