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
  type MountedService,
  type Resource,
  toResponse,
  updateResource,
} from "../../resource/index.ts";

/** Families of generated tags, distinguished by their names. A name may be in several. */
const families = { referrer: /^sha256-/, date: /-20[0-9]{6}$/, epoch: /-r[0-9]+$/ } as const;

/** The values of the column `family`: the families of a name, in order. */
const familySets = ["referrer", "referrer date", "referrer epoch", "date", "epoch"];

function familiesOf(name: string): string {
  return Object.entries(families)
    .flatMap(([family, pattern]) => (pattern.test(name) ? [family] : []))
    .join(" ");
}

function outside(family: keyof typeof families) {
  return () => [{ column: "family", notIn: familySets.filter((set) => set.includes(family)) }];
}

/** @param repos the parent of tags. */
export function defineTags(repos: Resource<typeof RepoSchema>) {
  return defineResource({
    schema: TagSchema,
    list: ListTagsRequestSchema,
    parent: repos,
    onParentDelete: "block",
    columns: {
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
      // No tag is hidden by default.
      includeReferrers: () => [],
      includeDates: () => [],
      includeEpochs: () => [],
    },
    unique: ["name"],
  });
}

export function tagsService(tags: Resource<typeof TagSchema>): MountedService {
  return implement(TagsService, [tags], {
    async createTag({ parent, tag = create(TagSchema) }: CreateTagRequest, context) {
      const existing = await findByName(tags, parent, tag, context);
      if (existing === undefined) return toResponse(tags, await insertResource(tags, parent, tag, context), context);
      const mask = { $typeName: "google.protobuf.FieldMask" as const, paths: ["digest", "deprecated", "bundles"] };
      return toResponse(tags, await updateResource(tags, existing.uid, tag, mask, context), context);
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
  return databaseOf(context).first(tags.table, { parent, where });
}
