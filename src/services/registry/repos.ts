/** Repos: the repositories of a registry, each with a readme that has the repo's own uid. */
import { create } from "@bufbuild/protobuf";
import {
  type DeleteRepoRequest,
  type GetRepoReadmeRequest,
  ListReposRequestSchema,
  RepoReadmeSchema,
  RepoSchema,
  ReposService,
  type UpdateRepoReadmeRequest,
} from "../../../gen/platform/registry/v2/repos_pb.ts";
import { failedPrecondition } from "../../errors.ts";
import {
  contentOf,
  databaseOf,
  defineResource,
  equalTo,
  findRow,
  implement,
  present,
  type Resource,
  removeResource,
  removeSelected,
  requireResource,
  type ServiceImplementation,
  standardMethods,
  transactionOf,
  updateResource,
} from "../../resource/index.ts";
import type { Row } from "../../store/index.ts";
import { removeImages } from "./image-packages.ts";

/** @param groups the resource that holds repos. */
export function defineRepos(groups: Resource) {
  return defineResource({
    schema: RepoSchema,
    list: ListReposRequestSchema,
    parent: groups,
    facets: { name: { text: (repo) => repo.name } },
    filters: { name: equalTo("name") },
    unique: ["name"],
  });
}

/** Readmes have rows of their own, so that lists of repos do not read them; without a row a readme is empty. It is where its repo is. */
const defineReadmes = (repos: Resource) =>
  defineResource({
    schema: RepoReadmeSchema,
    list: ListReposRequestSchema,
    ...(repos.declaration.parent && { parent: repos.declaration.parent }),
    facets: {},
    filters: { name: () => [] },
  });

/** @param tags what keeps a repo from being deleted, unless the call forces it. */
export function reposService(repos: Resource<typeof RepoSchema>, tags: Resource): ServiceImplementation {
  const readmes = defineReadmes(repos);
  return implement(ReposService, standardMethods(ReposService, repos), {
    async deleteRepo(request: DeleteRepoRequest, context) {
      const { uid, force } = request;
      await requireResource(repos, uid, context);
      const selection = { parent: uid };
      if (!force && (await databaseOf(context).exists(tags.table, selection))) {
        throw failedPrecondition({
          type: "RESOURCE_NOT_EMPTY",
          subject: uid,
          description: "cannot delete repo with child tags",
        });
      }
      await removeResource(repos, request, context);
      await removeSelected(tags, selection, context);
      await removeImages(transactionOf(context), uid);
      await transactionOf(context).remove(readmes.table, uid);
      return {};
    },

    async getRepoReadme({ uid }: GetRepoReadmeRequest, context) {
      const repo = await findRow(repos, uid, context);
      return present(
        readmes,
        (await databaseOf(context).get(readmes.table, uid)) ?? emptyReadme(readmes, repo),
        context,
      );
    },

    async updateRepoReadme({ repoReadme, updateMask }: UpdateRepoReadmeRequest, context) {
      const body = repoReadme ?? create(RepoReadmeSchema);
      const repo = await findRow(repos, body.uid, context);
      const session = transactionOf(context);
      if (!(await session.exists(readmes.table, { uids: [body.uid] })))
        await session.insert(readmes.table, emptyReadme(readmes, repo));
      return present(readmes, await updateResource(readmes, body.uid, body, updateMask, context), context);
    },
  });
}

/** The readme of a repo that was never given one: as old as the repo. */
function emptyReadme(readmes: Resource<typeof RepoReadmeSchema>, { uid, parent, createTimeUs }: Row): Row {
  return {
    uid,
    parent,
    version: 1,
    createTimeUs,
    updateTimeUs: createTimeUs,
    ...contentOf(readmes, create(RepoReadmeSchema)),
  };
}
