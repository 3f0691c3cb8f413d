/** The service of repos. What belongs to a repo goes with it. */
import { create } from "@bufbuild/protobuf";
import { RepoReadmeSchema, ReposService } from "../../../gen/platform/registry/v2/repos_pb.ts";
import {
  contentOf,
  databaseOf,
  findRow,
  findRowToChange,
  implement,
  removeResource,
  toResponse,
  transactionOf,
  updateResource,
} from "../../resource/index.ts";
import type { Row } from "../../store/index.ts";
import { removeImages } from "./image-packages.ts";
import { readmes, repos } from "./repos.ts";
import { removeReports } from "./vuln-reports.ts";

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
