/** What the repos of a group hold, for those who compare it with a registry. */
import type { MessageShape } from "@bufbuild/protobuf";
import type { TagSchema } from "../../../gen/platform/registry/v2/tags_pb.ts";
import { messageOf, type Resource } from "../../resource/index.ts";
import { columnValue, type ReadSession, type Row, type Selection } from "../../store/index.ts";
import { readImages } from "./images.ts";

/** A tag as it is stored. */
export type StoredTag = MessageShape<typeof TagSchema>;

/** A repo as it is stored. */
export interface StoredRepo {
  readonly uid: string;
  readonly name: string;
}

/** Reads what is stored. */
export interface RegistryContents {
  /** Whether there is a repo with this uid. */
  hasRepo(session: ReadSession, uid: string): Promise<boolean>;
  /** Whether a repo knows a digest: as an image, or by a tag. */
  hasDigest(session: ReadSession, repoUid: string, digest: string): Promise<boolean>;
  /** The uid of a group's repo. */
  findRepo(session: ReadSession, group: string, name: string): Promise<string | undefined>;
  /** The repos directly in a group, in the order of their names, some at a time. */
  repos(session: ReadSession, group: string): AsyncGenerator<readonly StoredRepo[]>;
  /** Tags of a repo by name, of those names that there are. */
  tagsNamed(session: ReadSession, repoUid: string, names: readonly string[]): Promise<ReadonlyMap<string, StoredTag>>;
  /** The tags of a repo in the order of their names, some at a time; of one digest where it is given. */
  tags(session: ReadSession, repoUid: string, digest?: string): AsyncGenerator<readonly StoredTag[]>;
}

const pageSize = 200;

/** @param repos and `tags`: the resources. */
export function registryContents(repos: Resource, tags: Resource<typeof TagSchema>): RegistryContents {
  return {
    hasRepo: (session, uid) => session.exists(repos.table, { uids: [uid] }),

    async hasDigest(session, repoUid, digest) {
      if ((await readImages(session, repoUid, [digest])).size > 0) return true;
      return session.exists(tags.table, { parent: repoUid, where: [{ column: "digest", equals: digest }] });
    },

    async findRepo(session, group, name) {
      const selection = { parent: group, where: [{ column: "name", equals: name }] };
      const [row] = await session.list(repos.table, { ...selection, orderBy: [], skip: 0, limit: 1 });
      return row?.uid;
    },

    async *repos(session, group) {
      for await (const rows of pagesByName(session, repos, { parent: group }))
        yield rows.map(({ uid, facets }) => ({ uid, name: facets.name as string }));
    },

    async tagsNamed(session, repoUid, names) {
      const selection = { parent: repoUid, where: [{ column: "name", in: names }] };
      const rows = await session.list(tags.table, { ...selection, orderBy: [], skip: 0, limit: names.length });
      return new Map(rows.map((row) => [row.facets.name as string, messageOf(tags, row)]));
    },

    async *tags(session, repoUid, digest) {
      const where = digest === undefined ? [] : [{ column: "digest", equals: digest }];
      for await (const rows of pagesByName(session, tags, { parent: repoUid, where }))
        yield rows.map((row) => messageOf(tags, row));
    },
  };
}

async function* pagesByName(session: ReadSession, { table }: Resource, selection: Selection): AsyncGenerator<Row[]> {
  const orderBy = [{ column: "name", descending: false }];
  let last: Row | undefined;
  do {
    const after: { after?: readonly (string | number | null)[] } =
      last === undefined ? {} : { after: [columnValue(last, "name") as string, last.uid] };
    const rows: Row[] = await session.list(table, { ...selection, orderBy, ...after, skip: 0, limit: pageSize });
    if (rows.length > 0) yield rows;
    last = rows.length < pageSize ? undefined : rows.at(-1);
  } while (last !== undefined);
}
