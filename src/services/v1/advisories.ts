/** Advisories of v1, where they can be written too. */
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import { UidpFilterSchema } from "../../../gen/platform/common/uidp_filter_pb.ts";
import * as v1 from "../../../gen/platform/vulnerabilities/v1/advisories_pb.ts";
import * as v2 from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { chain } from "../../awaitable.ts";
import { invalid } from "../../errors.ts";
import type { Conversion } from "../../translation/index.ts";
import {
  addEvent,
  createAdvisory,
  deleteAdvisory,
  replaceAdvisory,
  replaceEvent,
} from "../vulnerabilities/edit-advisories.ts";
import { byId, longPageSize, serviceOfV1 } from "./common.ts";

const orders: Partial<Record<v1.OrderBy, string>> = {
  [v1.OrderBy.ID_ASC]: "uid asc",
  [v1.OrderBy.ID_DESC]: "uid desc",
  [v1.OrderBy.CREATED_AT_ASC]: "create_time asc",
  [v1.OrderBy.CREATED_AT_DESC]: "create_time desc",
  [v1.OrderBy.UPDATED_AT_ASC]: "update_time asc",
  [v1.OrderBy.UPDATED_AT_DESC]: "update_time desc",
};

const orderBy: Conversion = {
  name: "order_by",
  toNewer(order: v1.OrderBy) {
    const name = orders[order];
    if (name !== undefined) return name;
    const names = v1.OrderBySchema.values.flatMap(({ number, name: known }) => (number in orders ? [known] : []));
    throw invalid({ field: "order_by", description: `must be one of ${names.join(", ")}` });
  },
  toOlder: () => v1.OrderBy.ORDER_BY_UNSPECIFIED,
};

const noSuchType = "this server does not record where a component was before";

export const advisoriesOfV1 = serviceOfV1(v1.Advisories, {
  messages: [
    {
      older: v1.AdvisorySchema,
      newer: v2.AdvisorySchema,
      fields: { deleted_at: "delete_time", legacyAdvisoryID: "legacy_advisory_id" },
      onlyNewer: { severities: "v1 does not show them" },
    },
    {
      older: v1.AdvisoryEventSchema,
      newer: v2.AdvisoryEventSchema,
      fields: { timestamp: "create_time", status: "review_state" },
      refused: { component_location_changed: noSuchType },
    },
    {
      older: v1.AdvisoryEvent_Detection_ScanV1Schema,
      newer: v2.AdvisoryEvent_Detection_ScanV1Schema,
      fields: { subpackage_name: "subpackage", component_name: "component" },
    },
    {
      older: v1.AdvisoryFilterSchema,
      newer: v2.ListAdvisoriesRequestSchema,
      fields: {
        artifact_type: "artifact_types",
        artifact_name: "artifact_names",
        artifact_architecture: "artifact_architectures",
        component_name: "component_names",
        component_type: "component_types",
        component_location: "component_locations",
        event_statuses: "event_review_states",
        event_author: "event_authors",
        event_reviewer: "event_reviewers",
        exclude_event_author: "exclude_event_authors",
        page_size: longPageSize,
        order_by: orderBy,
      },
      onlyOlder: byId,
      onlyNewer: { artifact_versions: "no filter of v1", query: "no filter of v1" },
    },
    {
      older: v1.AdvisoriesListSchema,
      newer: v2.ListAdvisoriesResponseSchema,
      fields: { items: "advisories" },
      onlyOlder: { id: "the list has none" },
    },
  ],
  enums: [
    {
      older: v1.EventTypeFilterSchema,
      newer: v2.EventTypeFilterSchema,
      onlyOlder: { EVENT_TYPE_FILTER_COMPONENT_LOCATION_CHANGED: noSuchType },
    },
  ],
  methods({ call, custom, invoke, translate }) {
    const { getAdvisory, listAdvisories } = v2.AdvisoriesService.method;
    const advisory = translate(v1.AdvisorySchema, v2.AdvisorySchema);
    const event = translate(v1.AdvisoryEventSchema, v2.AdvisoryEventSchema);
    const toAdvisory = (message: v1.Advisory | undefined) =>
      advisory.toNewer(message ?? create(v1.AdvisorySchema)) as v2.Advisory;
    const toEvent = (message: v1.AdvisoryEvent | undefined) =>
      event.toNewer(message ?? create(v1.AdvisoryEventSchema)) as v2.AdvisoryEvent;
    return {
      create: (method) =>
        custom(method, undefined, async (request: v1.CreateAdvisoryRequest, context) =>
          advisory.toOlder(await createAdvisory(request.parentId, toAdvisory(request.advisory), context)),
        ),
      update: (method) =>
        custom(method, undefined, async (request: v1.Advisory, context) =>
          advisory.toOlder(await replaceAdvisory(toAdvisory(request), context)),
        ),
      delete: (method) =>
        custom(method, undefined, async ({ id }: v1.DeleteAdvisoryRequest, context) => {
          await deleteAdvisory(id, context);
          return create(EmptySchema);
        }),
      list: (method) =>
        call(method, listAdvisories, ({ id }: v1.AdvisoryFilter, query: v2.ListAdvisoriesRequest) =>
          id === "" ? query : withId(query, id),
        ),
      createAdvisoryEvent: (method) =>
        custom(method, undefined, async (request: v1.CreateAdvisoryEventRequest, context) =>
          event.toOlder(await addEvent(request.parentId, toEvent(request.advisoryEvent), context)),
        ),
      listAdvisoryEvents: (method) =>
        custom(method, getAdvisory, ({ parentId }: v1.AdvisoryEventFilter, context: HandlerContext) =>
          chain(invoke(getAdvisory, create(v2.GetAdvisoryRequestSchema, { uid: parentId }), context), (found) => {
            const { events } = advisory.toOlder(found) as v1.Advisory;
            return create(v1.AdvisoryEventListSchema, { parentId, items: events });
          }),
        ),
      updateAdvisoryEvent: (method) =>
        custom(method, undefined, async (request: v1.AdvisoryEvent, context) =>
          event.toOlder(await replaceEvent(toEvent(request), context)),
        ),
    };
  },
});

/** A query that finds the advisory with this id only. */
function withId(query: v2.ListAdvisoriesRequest, id: string): v2.ListAdvisoriesRequest {
  const { uidp = create(UidpFilterSchema) } = query;
  const isWanted = uidp.ids.length === 0 || uidp.ids.includes(id);
  return { ...query, uidp: { ...uidp, ids: [id], inRoot: uidp.inRoot || !isWanted } };
}
