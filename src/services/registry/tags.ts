/** Tags: names for digests in a repo. Creating a tag that exists moves it. */
import { create, type MessageShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { RepoSchema } from "../../../gen/platform/registry/v2/repos_pb.ts";
import {
  type CreateTagRequest,
  ListTagsRequestSchema,
  TagSchema,
  TagsService,
} from "../../../gen/platform/registry/v2/tags_pb.ts";
import {
  databaseOf,
  defineResource,
  equalTo,
  type findRow,
  implement,
  insertResource,
  present,
  type Resource,
  type ServiceImplementation,
  standardMethods,
  updateResource,
} from "../../resource/index.ts";

/** Families of tags that a machine makes, told apart by their names; "" is any other tag. */
const families: readonly (readonly [string, RegExp])[] = [
  ["referrer", /^sha256-/],
  ["date", /-20[0-9]{6}$/],
  ["epoch", /-r[0-9]+$/],
];

/** @param repos the resource that holds tags. */
export function defineTags(repos: Resource<typeof RepoSchema>) {
  return defineResource({
    schema: TagSchema,
    list: ListTagsRequestSchema,
    parent: repos,
    facets: {
      name: { text: (tag) => tag.name },
      digest: { text: (tag) => tag.digest },
      family: { text: (tag) => families.find(([, pattern]) => pattern.test(tag.name))?.[0] ?? "" },
    },
    filters: {
      name: equalTo("name"),
      digest: equalTo("digest"),
      updatedSince: (time) => [{ column: "update_time_us", greaterThan: timestampMs(time) * 1000 }],
      excludeReferrers: () => [{ column: "family", notIn: ["referrer"] }],
      excludeDates: () => [{ column: "family", notIn: ["date"] }],
      excludeEpochs: () => [{ column: "family", notIn: ["epoch"] }],
      // Nothing is hidden, so there is nothing to include.
      includeReferrers: () => [],
      includeDates: () => [],
      includeEpochs: () => [],
    },
    unique: "name",
  });
}

export function tagsService(tags: Resource<typeof TagSchema>): ServiceImplementation {
  return implement(TagsService, standardMethods(TagsService, tags), {
    async createTag({ parent, tag = create(TagSchema) }: CreateTagRequest, context) {
      const existing = await findByName(tags, parent, tag, context);
      if (existing === undefined) return present(tags, await insertResource(tags, parent, tag, context), context);
      const mask = { $typeName: "google.protobuf.FieldMask" as const, paths: ["digest", "deprecated", "bundles"] };
      return present(tags, await updateResource(tags, existing.uid, tag, mask, context), context);
    },
  });
}

async function findByName(
  tags: Resource<typeof TagSchema>,
  parent: string,
  tag: MessageShape<typeof TagSchema>,
  context: Parameters<typeof findRow>[2],
) {
  const where = [{ column: "name", equals: tag.name }];
  const [row] = await databaseOf(context).list(tags.table, {
    parent,
    where,
    orderBy: [{ column: "uid", descending: false }],
    skip: 0,
    limit: 1,
  });
  return row;
}
