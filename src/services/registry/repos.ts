/** Repos: the repositories of a registry. Each has a readme with the uid of the repo. */
import { create } from "@bufbuild/protobuf";
import {
  ListReposRequestSchema,
  RepoReadmeSchema,
  RepoSchema,
  ReposService,
} from "../../../gen/platform/registry/v2/repos_pb.ts";
import {
  contentOf,
  databaseOf,
  defineResource,
  equalTo,
  findRow,
  findRowToChange,
  implement,
  removeResource,
  toResponse,
  transactionOf,
  updateResource,
} from "../../resource/index.ts";
import type { Row } from "../../store/index.ts";
import { groups } from "../iam/groups.ts";
import { removeImages } from "./image-packages.ts";
import { removeReports } from "./vuln-reports.ts";

export const repos = defineResource({
  schema: RepoSchema,
  list: ListReposRequestSchema,
  parent: groups,
  onParentDelete: "block",
  columns: { name: { text: (repo) => repo.name } },
  filters: { name: equalTo("name") },
  unique: ["name"],
});

/** Readmes are rows of their own, so that lists of repos do not read them. A repo without a row has an empty readme. */
export const readmes = defineResource({
  schema: RepoReadmeSchema,
  parent: groups,
  onParentDelete: "cascade",
  partOf: repos,
  byteQuota: "readmeBytes",
  columns: {},
});

export const reposService = implement(ReposService, [repos, readmes], {
  async deleteRepo(request, context) {
    await removeResource(repos, request, context);
    await removeImages(transactionOf(context), request.uid);
    await removeReports(transactionOf(context), request.uid);
    return {};
  },

  async getRepoReadme({ uid }, context) {
    const repo = await findRow(repos, uid, context);
    return toResponse(readmes, (await databaseOf(context).get(readmes.table, uid)) ?? emptyReadme(repo), context);
  },

  async updateRepoReadme({ repoReadme, updateMask }, context) {
    const body = repoReadme ?? create(RepoReadmeSchema);
    const repo = await findRowToChange(repos, body.uid, context);
    const session = transactionOf(context);
    if (!(await session.exists(readmes.table, { uids: [body.uid] })))
      await session.insert(readmes.table, emptyReadme(repo));
    return toResponse(readmes, await updateResource(readmes, body.uid, body, updateMask, context), context);
  },
});

/** The readme of a repo that has none stored; it is as old as the repo. */
function emptyReadme({ uid, parent, createTimeUs }: Row): Row {
  return {
    uid,
    parent,
    version: 1,
    createTimeUs,
    updateTimeUs: createTimeUs,
    ...contentOf(readmes, create(RepoReadmeSchema)),
  };
}
