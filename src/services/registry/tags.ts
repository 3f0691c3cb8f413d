/** Tags: names for digests in a repo. Creating a tag that exists moves it. */
import { create, type Message } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type CreateTagRequest,
  ListTagsRequestSchema,
  TagSchema,
  TagsService,
} from "../../../gen/platform/registry/v2/tags_pb.ts";
import type { Awaitable } from "../../awaitable.ts";
import { invalid } from "../../errors.ts";
import {
  databaseOf,
  defineResource,
  equalTo,
  type Filter,
  implement,
  insertResource,
  toResponse,
  updateResource,
  variantOfEtag,
} from "../../resource/index.ts";
import type { Row } from "../../store/index.ts";
import { hasEnded, productsIn } from "./products.ts";
import { repos } from "./repos.ts";
import { recordMove } from "./tag-moves.ts";

/** Families of generated tags, distinguished by their names. A name may be in several. */
const families = { referrer: /^sha256-/, date: /-20[0-9]{6}$/, epoch: /-r[0-9]+$/ } as const;

/** The values of the column `family`: the families of a name, in order. */
const familySets = ["referrer", "referrer date", "referrer epoch", "date", "epoch"];

function familiesOf(name: string): string {
  return Object.entries(families)
    .flatMap(([family, pattern]) => (pattern.test(name) ? [family] : []))
    .join(" ");
}

function outside(family: keyof typeof families): Filter<boolean, Message, "family"> {
  return () => [{ column: "family", notIn: familySets.filter((set) => set.includes(family)) }];
}

export const tags = defineResource({
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
  async check({ parent, before, after, paths }, context) {
    const concernsDigest = paths?.some(([field]) => field?.name === "digest") ?? true;
    if (after.digest === "" && concernsDigest)
      // only v1 has tags without a digest
      throw invalid({ field: "digest", description: "is required" });
    if (before?.digest !== after.digest) await recordMove(context, parent, after);
  },
  checkRemoval: ({ parent, columns }, context) =>
    recordMove(context, parent, { name: columns.name as string, digest: "" }),
  /** A tag is deprecated as soon as the version that it is of has reached its end of life. */
  async hydrate(messages, rows, session, { nowMs }) {
    const undecided = messages.map((tag, i) => ({ tag, repo: rows[i]!.parent })).filter(({ tag }) => !tag.deprecated);
    const parents = [...new Set(undecided.map(({ repo }) => repo))];
    const products = await productsIn(session, parents);
    for (const { tag, repo } of undecided) {
      if (!hasEnded(products.get(repo), tag.name, nowMs)) continue;
      tag.deprecated = true;
      tag.etag = variantOfEtag(tag.etag, "eol");
    }
  },
});

export const tagsService = implement(TagsService, [tags], {
  async createTag({ parent, tag = create(TagSchema) }: CreateTagRequest, context) {
    const existing = await tagNamed(parent, tag.name, context);
    if (existing === undefined) return toResponse(tags, await insertResource(tags, parent, tag, context), context);
    const mask = { $typeName: "google.protobuf.FieldMask" as const, paths: ["digest", "deprecated", "bundles"] };
    return toResponse(tags, await updateResource(tags, existing.uid, tag, mask, context), context);
  },
});

/** The tag of a repo with this name. */
export function tagNamed(
  parent: string,
  name: string,
  context: Pick<HandlerContext, "values">,
): Awaitable<Row | undefined> {
  return databaseOf(context).first(tags.table, { parent, where: [{ column: "name", equals: name }] });
}
