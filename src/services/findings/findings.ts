/** The service of findings: what is known about packages, and the findings in images. */
import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  FindingSchema,
  FindingsService,
  type ListFindingsRequest,
  ListFindingsResponseSchema,
} from "../../../gen/platform/findings/v1/findings_pb.ts";
import { scopesOf } from "../../auth/index.ts";
import { databaseOf, implement, type MountedService, messagePageLength, openList } from "../../resource/index.ts";
import type { ReadSession } from "../../store/index.ts";
import { findingDefaultOrder, findingSortNames, keyOf, pageOfFindings } from "./finding-order.ts";
import { findFindings } from "./found-findings.ts";
import { imageUids } from "./image-names.ts";
import type { KnownComponents } from "./known/components.ts";
import type { FindingFilter } from "./known/counting-findings.ts";
import { componentMessage, findingMessage, fixStatesOf, statesOf } from "./messages.ts";
import { wantedPackages } from "./package-filter.ts";
import { queryPackages } from "./query-packages.ts";
import { selectImages, tagsOf } from "./selected-images.ts";

const sortable = { sortNames: findingSortNames, defaultOrder: findingDefaultOrder };

/** @param memory what is known about components. */
export function findingsService(
  memory: KnownComponents,
  { summarizeFindings }: Pick<ServiceImpl<typeof FindingsService>, "summarizeFindings">,
): MountedService {
  return implement(FindingsService, [], {
    queryPackages: async (request, context) => queryPackages(request, await memory.open(databaseOf(context)), context),
    summarizeFindings,

    async listFindings(request, context) {
      const { query, order, after, pageSize, tokenAfter } = openList(sortable, request, context);
      const session = databaseOf(context);
      const selection = await selectImages(session, await imageFilter(session, query, context), scopesOf(context));
      const page = await memory.inTurn(session, async (turn) => {
        const known = await memory.open(session);
        const found = await findFindings(session, known, selection, findingFilter(query), turn);
        const part = { order, after, skip: request.skip, limit: pageSize, isIn: timeFilter(query) };
        return pageOfFindings(session, known, found, part);
      });
      const tags = await tagsOf(
        session,
        page.findings.map(({ image }) => image),
      );
      const messages = page.findings.map(({ component, finding, image, sinceMs }) =>
        findingMessage(componentMessage(component), finding, { ...image, tags: tags.get(image.uid)!, sinceMs }),
      );
      const length = messagePageLength(FindingSchema, messages);
      const last = page.hasMore || length < messages.length ? page.findings[length - 1] : undefined;
      return create(ListFindingsResponseSchema, {
        findings: messages.slice(0, length),
        totalCount: BigInt(page.total),
        skipped: request.skip,
        ...(last && { nextPageToken: tokenAfter(keyOf(last, order)) }),
      });
    },
  });
}

/** Which images a request is about. */
async function imageFilter(session: ReadSession, query: ListFindingsRequest, context: HandlerContext) {
  const { uidp, repo, tags, onlyTagged, image } = query;
  const uids = await imageUids(session, image, { field: "image", scopes: scopesOf(context) });
  return { uidp, repo, tags, onlyTagged, uids };
}

function findingFilter(query: ListFindingsRequest): FindingFilter {
  const { vulnerabilityIds, levels, minEpss, knownExploited, states } = query;
  return {
    states: statesOf(states),
    vulnerabilityIds,
    levels: new Set(levels),
    minEpss,
    knownExploited,
    fixStates: fixStatesOf(query.fixStates),
    isWanted: wantedPackages(query),
  };
}

function timeFilter({ firstSeenAfter, firstSeenBefore }: ListFindingsRequest) {
  if (firstSeenAfter === undefined && firstSeenBefore === undefined) return undefined;
  const from = firstSeenAfter === undefined ? Number.NEGATIVE_INFINITY : timestampMs(firstSeenAfter);
  const to = firstSeenBefore === undefined ? Number.POSITIVE_INFINITY : timestampMs(firstSeenBefore);
  return (firstSeenMs: number) => firstSeenMs >= from && firstSeenMs < to;
}
