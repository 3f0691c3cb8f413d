/** The packages that images hold now, for those who name images as people do: by a repo, its uid or its name, and a tag. */
import type { RepoSchema } from "../../../gen/platform/registry/v2/repos_pb.ts";
import type { TagSchema } from "../../../gen/platform/registry/v2/tags_pb.ts";
import type { Resource } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { covers, isUid } from "../../uid.ts";
import { type ImagePackage, readImagePackages } from "./image-packages.ts";

/** An image as it is asked for. */
export interface ImageName {
  /** The uid or the name of a repo. */
  readonly repo: string;
  readonly tag: string;
}

/** What is known of an image that was asked for. */
export interface NamedImage {
  /** Absent where there is no such repo among those that may be seen. */
  readonly repoUid?: string;
  /** Whether several repos have the name. */
  readonly isAmbiguous: boolean;
  /** What the tag names; absent where there is no such tag. */
  readonly digest?: string;
  /** Those of the digest; absent where it has no bill of materials. */
  readonly packages?: readonly ImagePackage[];
}

/** Finds images in the scopes given, in the order in which they are asked for. */
export type NamedPackages = (
  session: ReadSession,
  images: readonly ImageName[],
  scopes: readonly string[],
) => Promise<readonly NamedImage[]>;

/** @param repos and `tags`: the resources. */
export function namedPackages(repos: Resource<typeof RepoSchema>, tags: Resource<typeof TagSchema>): NamedPackages {
  async function findRepos(session: ReadSession, repo: string, scopes: readonly string[]): Promise<string[]> {
    if (isUid(repo)) {
      const isVisible =
        scopes.some((scope) => covers(scope, repo)) && (await session.get(repos.table, repo)) !== undefined;
      return isVisible ? [repo] : [];
    }
    const within = scopes.map((root) => ({ root, self: true }));
    const where = [{ column: "name", equals: repo }];
    const query = { ...(!scopes.includes("") && { within }), where, orderBy: [], skip: 0, limit: 2 };
    return (await session.list(repos.table, query)).map(({ uid }) => uid);
  }

  /** What tags of one repo name, by tag. */
  async function tagged(session: ReadSession, repoUid: string, names: readonly string[]) {
    const where = [{ column: "name", in: names }];
    const rows = await session.list(tags.table, { parent: repoUid, where, orderBy: [], skip: 0, limit: names.length });
    const digests = new Map(rows.map(({ facets }) => [facets.name as string, facets.digest as string]));
    const lists = await readImagePackages(session, repoUid, [...new Set(digests.values())]);
    return new Map(
      [...digests].map(([name, digest]) => {
        const packages = lists.get(digest);
        return [name, { digest, ...(packages && { packages }) }];
      }),
    );
  }

  return async (session, images, scopes) => {
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
  };
}
