/** Repos: the repositories of a registry. Each has a readme with the uid of the repo. */
import { ListReposRequestSchema, RepoReadmeSchema, RepoSchema } from "../../../gen/platform/registry/v2/repos_pb.ts";
import { defineResource, equalTo } from "../../resource/index.ts";
import { groups } from "../iam/groups.ts";

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
