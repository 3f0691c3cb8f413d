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

/** Families of tags that a machine makes, told apart by their names; a name may be of several. */
const families = { referrer: /^sha256-/, date: /-20[0-9]{6}$/, epoch: /-r[0-9]+$/ } as const;

/** What the column `family` may hold: the families of a name, in order. */
const familySets = ["referrer", "referrer date", "referrer epoch", "date", "epoch"];

function familiesOf(name: string): string {
  return Object.entries(families)
    .flatMap(([family, pattern]) => (pattern.test(name) ? [family] : []))
    .join(" ");
}

function outside(family: keyof typeof families) {
  return () => [{ column: "family", notIn: familySets.filter((set) => set.includes(family)) }];
}

/** @param repos the resource that holds tags. */
export function defineTags(repos: Resource<typeof RepoSchema>) {
  return defineResource({
    schema: TagSchema,
    list: ListTagsRequestSchema,
    parent: repos,
    facets: {
      name: { text: (tag) => tag.name },
      digest: { text: (tag) => tag.digest },
      family: { text: (tag) => familiesOf(tag.name) },
    },
    filters: {
      name: equalTo("name"),
      digest: equalTo("digest"),
      updatedSince: (time) => [{ column: "update_time_us", greaterThan: timestampMs(time) * 1000 }],
      excludeReferrers: outside("referrer"),
      excludeDates: outside("date"),
      excludeEpochs: outside("epoch"),
      // Nothing is hidden, so there is nothing to include.
      includeReferrers: () => [],
      includeDates: () => [],
      includeEpochs: () => [],
    },
    unique: ["name"],
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
