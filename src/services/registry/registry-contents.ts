/** The stored contents of repos, for the comparison with a registry. */
import type { Tag } from "../../../gen/platform/registry/v2/tags_pb.ts";
import type { Awaitable } from "../../awaitable.ts";
import { messageOf, type Resource } from "../../resource/index.ts";
import type { ReadSession, Row, Selection, WriteSession } from "../../store/index.ts";
import { readImages } from "./images.ts";
import { repos } from "./repos.ts";
import { tags } from "./tags.ts";

/** A stored tag. */
export type StoredTag = Tag;

/** A stored repo. */
interface StoredRepo {
  readonly uid: string;
  readonly name: string;
}

const pageSize = 200;

/** Reads the stored contents of repos. */
export const registryContents = {
  /** Whether a repo with this uid exists. It then exists until the transaction ends. */
  holdRepo: (session: WriteSession, uid: string): Awaitable<boolean> => session.hold(repos.table, uid),

  /** Whether a repo has a digest, as an image or by a tag. */
  async hasDigest(session: ReadSession, repoUid: string, digest: string): Promise<boolean> {
    if ((await readImages(session, repoUid, [digest])).size > 0) return true;
    return session.exists(tags.table, { parent: repoUid, where: [{ column: "digest", equals: digest }] });
  },

  /** The uid of the repo of a group with this name. */
  async findRepo(session: ReadSession, group: string, name: string): Promise<string | undefined> {
    const selection = { parent: group, where: [{ column: "name", equals: name }] };
    return (await session.first(repos.table, selection))?.uid;
  },

  /** The repos directly in a group by name, in portions. */
  async *repos(session: ReadSession, group: string): AsyncGenerator<readonly StoredRepo[]> {
    for await (const rows of pagesByName(session, repos, { parent: group }))
      yield rows.map(({ uid, columns }) => ({ uid, name: columns.name as string }));
  },

  /** The tags of a repo that have these names, by name. */
  async tagsNamed(session: ReadSession, repoUid: string, names: readonly string[]): Promise<Map<string, StoredTag>> {
    const selection = { parent: repoUid, where: [{ column: "name", in: names }] };
    const rows = await session.list(tags.table, { ...selection, limit: names.length });
    return new Map(rows.map((row) => [row.columns.name as string, messageOf(tags, row)]));
  },

  /** The tags of a repo by name, in portions; those of one digest if it is given. */
  async *tags(session: ReadSession, repoUid: string, digest?: string): AsyncGenerator<readonly StoredTag[]> {
    const where = digest === undefined ? [] : [{ column: "digest", equals: digest }];
    for await (const rows of pagesByName(session, tags, { parent: repoUid, where }))
      yield rows.map((row) => messageOf(tags, row));
  },
};

function pagesByName(session: ReadSession, { table }: Resource, selection: Selection): AsyncGenerator<Row[]> {
  return session.pages(table, { ...selection, orderBy: [{ column: "name", descending: false }], limit: pageSize });
}
