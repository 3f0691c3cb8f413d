/** ListTagHistory: the digests that a tag has named. */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type ListTagHistoryRequest,
  ListTagHistoryResponseSchema,
  TagHistoryEntrySchema,
} from "../../../gen/platform/findings/v1/images_pb.ts";
import { databaseOf, findRow, openList } from "../../resource/index.ts";
import { digestsNamed } from "../registry/tag-moves.ts";
import { tags } from "../registry/tags.ts";

const sortable = { sortNames: { from: "from" }, defaultOrder: [{ column: "from", descending: true }] };

/** Errors: NOT_FOUND. */
export async function listTagHistory(request: ListTagHistoryRequest, context: HandlerContext) {
  const { query, order, after, pageSize, tokenAfter } = openList(sortable, request, context);
  const { parent, columns } = await findRow(tags, query.uid, context);
  const named = await digestsNamed(databaseOf(context), parent, columns.name as string);
  const inOrder = order[0]?.descending === false ? named : named.reverse();
  const start = after === undefined ? 0 : inOrder.findIndex(({ fromMs }) => fromMs === Number(after[0])) + 1;
  const page = inOrder.slice(start + request.skip, start + request.skip + pageSize);
  const hasMore = start + request.skip + page.length < inOrder.length;
  return create(ListTagHistoryResponseSchema, {
    entries: page.map(({ digest, fromMs, toMs }) =>
      create(TagHistoryEntrySchema, {
        digest,
        from: timestampFromMs(fromMs),
        ...(toMs !== undefined && { to: timestampFromMs(toMs) }),
      }),
    ),
    totalCount: BigInt(named.length),
    skipped: request.skip,
    ...(hasMore && page.length > 0 && { nextPageToken: tokenAfter([page.at(-1)!.fromMs]) }),
  });
}
