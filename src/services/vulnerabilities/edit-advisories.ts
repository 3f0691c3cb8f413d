/**
 * Advisories that are written through the API. They are one more feed: what the API writes is merged with what the
 * feeds say about the same artifact and vulnerability, and it alone can be changed or deleted through the API.
 */
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import {
  type Advisory,
  type AdvisoryEvent,
  AdvisoryEventSchema,
  AdvisorySchema,
} from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { alreadyExists, failedPrecondition, invalid, notFound } from "../../errors.ts";
import {
  apiFeed,
  environmentOf,
  findRow,
  holdResource,
  type Resource,
  readOfFeed,
  recordIn,
  toResponse,
  transactionOf,
} from "../../resource/index.ts";
import { parentOf } from "../../uid.ts";
import type { AdvisoryWriter } from "./save-advisories.ts";

/** Writes advisories as calls ask for. Each method returns what is then stored. */
export interface AdvisoryEditor {
  /** Errors: NOT_FOUND for the group, INVALID_ARGUMENT; ALREADY_EXISTS, also when it is of a feed. */
  create(group: string, advisory: Advisory, context: HandlerContext): Promise<Advisory>;
  /** Replaces an advisory. Errors: NOT_FOUND, INVALID_ARGUMENT; FAILED_PRECONDITION when it is of a feed. */
  replace(advisory: Advisory, context: HandlerContext): Promise<Advisory>;
  /** Errors: NOT_FOUND; FAILED_PRECONDITION when it is of a feed. */
  remove(uid: string, context: HandlerContext): Promise<void>;
  /** Adds an event to any advisory, now. Errors: NOT_FOUND, INVALID_ARGUMENT. */
  addEvent(advisoryUid: string, event: AdvisoryEvent, context: HandlerContext): Promise<AdvisoryEvent>;
  /** Replaces an event but for its type and time. Errors: as `replace`. */
  replaceEvent(event: AdvisoryEvent, context: HandlerContext): Promise<AdvisoryEvent>;
}

export function advisoryEditor(advisories: Resource<typeof AdvisorySchema>, writer: AdvisoryWriter): AdvisoryEditor {
  const { advisoriesOfFeeds, saveAdvisories, removeAdvisory, advisoryUid } = writer;

  const writeOf = (context: HandlerContext) => ({
    feed: apiFeed,
    nowMs: environmentOf(context).nowMs,
    onChange: recordIn(context),
  });

  async function save(group: string, advisory: Advisory, context: HandlerContext): Promise<Advisory> {
    await saveAdvisories(transactionOf(context), { ...writeOf(context), group, advisories: [advisory] });
    const uid = advisoryUid(group, advisory);
    return toResponse(advisories, await findRow(advisories, uid, context), context);
  }

  /** What the API has written of an advisory. */
  const ownOf = (uid: string, context: HandlerContext) =>
    readOfFeed(advisoriesOfFeeds, transactionOf(context), apiFeed, uid);

  async function requireOwn(uid: string, context: HandlerContext): Promise<Advisory> {
    await holdResource(advisories, uid, context);
    const own = await ownOf(uid, context);
    if (own === undefined) throw ofFeeds(uid);
    return own;
  }

  const stamped = (event: AdvisoryEvent, context: HandlerContext): AdvisoryEvent =>
    create(AdvisoryEventSchema, { ...event, createTime: timestampFromMs(environmentOf(context).nowMs) });

  return {
    async create(group, advisory, context) {
      await holdResource(advisories.declaration.parent!, group, context);
      const events = advisory.events.map((event) => stamped(event, context));
      const fields = { ...advisory, ...productOf(undefined), deleteTime: undefined, events };
      const uid = advisoryUid(group, fields);
      if ((await transactionOf(context).get(advisories.table, uid)) !== undefined)
        throw alreadyExists(
          { type: advisories.contract.type, uid },
          `artifact ${JSON.stringify(advisory.artifactName)} and id ${JSON.stringify(advisory.advisoryId)}`,
        );
      return save(group, create(AdvisorySchema, fields), context);
    },

    async replace(advisory, context) {
      const { uid } = advisory;
      const own = await requireOwn(uid, context);
      for (const name of ["advisoryId", "artifactName"] as const)
        if (advisory[name] !== own[name])
          throw invalid({
            field: AdvisorySchema.fields.find(({ localName }) => localName === name)!.name,
            description: "cannot be changed",
          });
      const times = new Map(own.events.map((event) => [event.uid, event.createTime]));
      const events = advisory.events.map((event) => {
        const createTime = times.get(event.uid);
        return createTime === undefined
          ? stamped(event, context)
          : create(AdvisoryEventSchema, { ...event, createTime });
      });
      const fields = { ...advisory, ...productOf(own), deleteTime: undefined, events };
      return save(parentOf(uid), create(AdvisorySchema, fields), context);
    },

    async remove(uid, context) {
      await requireOwn(uid, context);
      await removeAdvisory(transactionOf(context), uid, writeOf(context));
    },

    async addEvent(advisoryUid, event, context) {
      const stored = await toResponse(advisories, await findRow(advisories, advisoryUid, context), context);
      const own = (await ownOf(advisoryUid, context)) ?? create(AdvisorySchema, { ...stored, events: [] });
      const added = stamped(event, context);
      await save(parentOf(advisoryUid), create(AdvisorySchema, { ...own, events: [...own.events, added] }), context);
      return added;
    },

    async replaceEvent(event, context) {
      const uid = parentOf(event.uid);
      const own = await requireOwn(uid, context);
      const before = own.events.find((each) => each.uid === event.uid);
      if (before === undefined) throw notFound({ type: eventType, uid: event.uid });
      if (event.type.case !== before.type.case)
        throw invalid({ field: event.type.case ?? "type", description: "the type of an event cannot be changed" });
      const after = create(AdvisoryEventSchema, { ...event, createTime: before.createTime });
      const events = own.events.map((each) => (each === before ? after : each));
      await save(parentOf(uid), create(AdvisorySchema, { ...own, events }), context);
      return after;
    },
  };
}

/** The fields about the product of a statement, which only feeds write. */
function productOf(own: Advisory | undefined) {
  const { artifactVersion, packageUrl, subcomponent } = own ?? create(AdvisorySchema);
  return { artifactVersion, packageUrl, subcomponent };
}

const eventType = "vulnerabilities.platform.internal/AdvisoryEvent";

function ofFeeds(uid: string) {
  return failedPrecondition({
    type: "OF_FEED",
    subject: uid,
    description: "the advisory comes from a feed, whose next import would undo the change",
  });
}
