/** Tags with the end of life of what they hold, which only v1 answers. */
import { create, type DescMethod } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import * as v1 from "../../../gen/platform/registry/v1/eol_tags_pb.ts";
import * as v2 from "../../../gen/platform/registry/v2/tags_pb.ts";
import { databaseOf, environmentOf, messageOf } from "../../resource/index.ts";
import type { Handler, MessageTable, MethodTranslations } from "../../translation/index.ts";
import { parentOf } from "../../uid.ts";
import { cycleOf, lifeCycleOf, type Product, type ProductCycle, productsIn } from "../registry/products.ts";
import { tags } from "../registry/tags.ts";
import { longPageSize } from "./common.ts";

const noFilter = "no filter of v1";

export const eolTagTables: readonly MessageTable[] = [
  {
    older: v1.EolTagFilterSchema,
    newer: v2.ListTagsRequestSchema,
    fields: { page_size: longPageSize },
    onlyNewer: Object.fromEntries(
      ["digest", "updated_since", "exclude_referrers", "include_referrers", "include_dates", "include_epochs"].map(
        (name) => [name, noFilter],
      ),
    ),
  },
];

/** The method of the registry. */
export function listEolTags({ custom, invoke, translate }: MethodTranslations): (method: DescMethod) => Handler {
  const { listTags } = v2.TagsService.method;
  const filter = translate(v1.EolTagFilterSchema, v2.ListTagsRequestSchema);
  return (method) =>
    custom(method, listTags, async (request: v1.EolTagFilter, context: HandlerContext) => {
      // Signatures and other referrers are not images.
      const query = { ...(filter.toNewer(request) as v2.ListTagsRequest), excludeReferrers: true };
      const listed = (await invoke(listTags, query, context)) as v2.ListTagsResponse;
      const session = databaseOf(context);
      const uids = listed.tags.map(({ uid }) => uid);
      const products = await productsIn(session, [...new Set(uids.map(parentOf))]);
      const rows = await session.getMany(tags.table, uids);
      const { nowMs } = environmentOf(context);
      return create(v1.EolTagListSchema, {
        items: uids
          .flatMap((uid) => rows.get(uid) ?? [])
          .map((row) => eolTag(messageOf(tags, row), products.get(row.parent), nowMs)),
        nextPageToken: listed.nextPageToken ?? "",
      });
    });
}

const { TAG_ACTIVE, TAG_IN_GRACE, TAG_INACTIVE } = v1.EolTagStatus;
const { GRACE_NOT_ELIGIBLE, GRACE_ELIGIBLE, GRACE_ACTIVE, GRACE_EXPIRED } = v1.EolGracePeriodStatus;

const states = {
  active: [TAG_ACTIVE, GRACE_ELIGIBLE],
  grace: [TAG_IN_GRACE, GRACE_ACTIVE],
  inactive: [TAG_INACTIVE, GRACE_EXPIRED],
} as const;

/** A tag as it is stored. One that is set `deprecated` is inactive, whatever is known of its version. */
function eolTag({ uid, name, deprecated }: v2.Tag, product: Product | undefined, nowMs: number): v1.EolTag {
  const cycle = product && cycleOf(product, name);
  const base = {
    id: uid,
    name,
    mainPackageName: product?.name ?? "",
    mainPackageVersion: cycle === undefined ? {} : versionOf(cycle),
  };
  if (deprecated) return create(v1.EolTagSchema, { ...base, tagStatus: TAG_INACTIVE });
  if (cycle === undefined) return create(v1.EolTagSchema, base);
  const { state, graceEndMs } = lifeCycleOf(cycle, nowMs);
  const [tagStatus, graceStatus] = states[state];
  return create(v1.EolTagSchema, {
    ...base,
    tagStatus,
    graceStatus: graceEndMs === undefined ? GRACE_NOT_ELIGIBLE : graceStatus,
    ...(graceEndMs !== undefined && { gracePeriodExpiryDate: timestampFromMs(graceEndMs) }),
  });
}

function versionOf({ version, releaseDate, eolDate, isLts, ltsDate, latest }: ProductCycle) {
  return {
    version,
    exists: true,
    releaseDate,
    eolDate,
    lts: isLts,
    legacyLts: ltsDate || (isLts ? "true" : ""),
    latestVersion: latest,
  };
}
