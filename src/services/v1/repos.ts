/** Repos of v1, which hold their readme. */
import { create, type DescMethod } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import * as v1 from "../../../gen/platform/registry/v1/repos_pb.ts";
import * as v2 from "../../../gen/platform/registry/v2/repos_pb.ts";
import { capabilityNamed, requireCapabilities } from "../../auth/index.ts";
import { type Awaitable, chain } from "../../awaitable.ts";
import { alreadyExists } from "../../errors.ts";
import { databaseOf, messageOf } from "../../resource/index.ts";
import type { Row } from "../../store/index.ts";
import type { Handler, MethodTranslations, Tables } from "../../translation/index.ts";
import { readmes, repos } from "../registry/repos.ts";
import { byId } from "./common.ts";

export const repoTables: Partial<Tables> = {
  messages: [
    {
      older: v1.RepoSchema,
      newer: v2.RepoSchema,
      onlyOlder: { readme: "a resource of its own" },
      refused: { custom_overlay: "this server builds no images" },
    },
    {
      older: v1.SyncConfigSchema,
      newer: v2.SyncConfigSchema,
      onlyOlder: { sync_apks: "nothing is copied, and v2 has no such field" },
    },
    {
      older: v1.CreateRepoRequestSchema,
      newer: v2.CreateRepoRequestSchema,
      onlyOlder: { prevent_existing: "decides what happens to a repo that exists" },
    },
    { older: v1.RepoFilterSchema, newer: v2.ListReposRequestSchema, onlyOlder: byId },
  ],
};

/** The methods of v1 that are about repos. */
export function repoMethods({ call, calling, replacing, list, custom, invoke }: MethodTranslations) {
  const { createRepo, updateRepo, listRepos, getRepo, updateRepoReadme, deleteRepo } = v2.ReposService.method;

  const setReadme = (item: v1.Repo, row: Row | undefined) => {
    if (row !== undefined) item.readme = messageOf(readmes, row).content;
  };

  function supplyReadmes(items: readonly v1.Repo[], context: HandlerContext): Awaitable<void> {
    const session = databaseOf(context);
    const [only] = items;
    if (only !== undefined && items.length === 1)
      return chain(session.get(readmes.table, only.id), (row) => setReadme(only, row));
    const ids = items.map(({ id }) => id);
    return session.getMany(readmes.table, ids).then((rows) => {
      for (const item of items) setReadme(item, rows.get(item.id));
    });
  }

  /** Sets the readme of a repo that has been answered. */
  async function saveReadme(repo: v1.Repo, readme: string, context: HandlerContext): Promise<v1.Repo> {
    await supplyReadmes([repo], context);
    if (repo.readme === readme) return repo;
    const repoReadme = { uid: repo.id, content: readme };
    const updateMask = { paths: ["content"] };
    await invoke(updateRepoReadme, create(v2.UpdateRepoReadmeRequestSchema, { repoReadme, updateMask }), context);
    repo.readme = readme;
    return repo;
  }

  const insert = calling(createRepo, v1.CreateRepoRequestSchema, v1.RepoSchema);
  const update = replacing(updateRepo, v1.RepoSchema);

  const save = (repo: v1.Repo, context: HandlerContext) =>
    chain(update(repo, context), (changed) => saveReadme(changed as v1.Repo, repo.readme, context));

  return {
    createRepo: (method) =>
      custom(method, createRepo, async (request: v1.CreateRepoRequest, context) => {
        const { parentId, repo = create(v1.RepoSchema), preventExisting } = request;
        const where = [{ column: "name", equals: repo.name }];
        const existing = await databaseOf(context).first(repos.table, { parent: parentId, where });
        if (existing === undefined)
          return saveReadme((await insert(request, context)) as v1.Repo, repo.readme, context);
        if (preventExisting)
          throw alreadyExists({ type: repos.contract.type, uid: existing.uid }, `name ${JSON.stringify(repo.name)}`);
        requireCapabilities(context, existing.uid, capabilityNamed("repo.update"));
        return save({ ...repo, id: existing.uid }, context);
      }),
    updateRepo: (method) => custom(method, updateRepo, save),
    listRepos: (method) => list(method, listRepos, { get: getRepo, supply: supplyReadmes }),
    deleteRepo: (method) => call(method, deleteRepo),
  } satisfies Record<string, (method: DescMethod) => Handler>;
}
