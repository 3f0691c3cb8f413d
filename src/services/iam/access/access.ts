/** The service that explains who can do what, and why. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { AccessService, ListAccessResponseSchema } from "../../../../gen/platform/access/v1/access_pb.ts";
import { authorityOf } from "../../../auth/index.ts";
import {
  commonSortNames,
  databaseOf,
  environmentOf,
  implement,
  openList,
  requireResource,
} from "../../../resource/index.ts";
import { rootOf } from "../../../uid.ts";
import { groups } from "../groups.ts";
import { capabilityOf } from "../roles.ts";
import { explainAccess } from "./explain.ts";
import type { Reader } from "./found-grants.ts";
import { countAccess, listAccess } from "./list.ts";

export const accessService = implement(AccessService, [], {
  async explain({ scope, identity, capability }, context) {
    const question = { scope, identity, capability: capabilityOf("capability", capability) };
    await requireResource(groups, rootOf(scope), context);
    return explainAccess(databaseOf(context), readerOf(context), question);
  },

  async listAccess(request, context) {
    const { query, order, after, pageSize, tokenAfter } = openList(inTurn, request, context);
    const { scope, identity } = query;
    await requireResource(groups, rootOf(scope), context);
    const [session, reader] = [databaseOf(context), readerOf(context)];
    const [{ grants, last }, totalCount] = await Promise.all([
      listAccess(session, reader, { scope, identity }, { order, after, skip: request.skip, limit: pageSize }),
      countAccess(session, reader, { scope, identity }),
    ]);
    return create(ListAccessResponseSchema, {
      grants: [...grants],
      totalCount: BigInt(totalCount),
      skipped: request.skip,
      ...(last !== undefined && { nextPageToken: tokenAfter(last) }),
    });
  },
});

/** By default what the list is made of follows each other. */
const inTurn = { sortNames: commonSortNames, defaultOrder: [] };

function readerOf(context: HandlerContext): Reader {
  const { issuerUrl, nowMs } = environmentOf(context);
  return { grants: authorityOf(context).grants, issuerUrl, nowMs };
}
