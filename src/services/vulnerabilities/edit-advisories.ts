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
  readOfFeed,
  recordIn,
  toResponse,
  transactionOf,
} from "../../resource/index.ts";
import { parentOf } from "../../uid.ts";
import { groups } from "../iam/groups.ts";
import { advisories } from "./advisories.ts";
import { advisoriesOfFeeds, advisoryUid, removeAdvisory, saveAdvisories } from "./save-advisories.ts";

/** Errors: NOT_FOUND for the group, INVALID_ARGUMENT; ALREADY_EXISTS, also when it is of a feed. */
export async function createAdvisory(group: string, advisory: Advisory, context: HandlerContext): Promise<Advisory> {
  await holdResource(groups, group, context);
  const events = advisory.events.map((event) => stamped(event, context));
  const fields = { ...advisory, ...productOf(undefined), deleteTime: undefined, events };
  const uid = advisoryUid(group, fields);
  if ((await transactionOf(context).get(advisories.table, uid)) !== undefined)
    throw alreadyExists(
      { type: advisories.contract.type, uid },
      `artifact ${JSON.stringify(advisory.artifactName)} and id ${JSON.stringify(advisory.advisoryId)}`,
    );
  return save(group, create(AdvisorySchema, fields), context);
}

/** Replaces an advisory. Errors: NOT_FOUND, INVALID_ARGUMENT; FAILED_PRECONDITION when it is of a feed. */
export async function replaceAdvisory(advisory: Advisory, context: HandlerContext): Promise<Advisory> {
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
    return createTime === undefined ? stamped(event, context) : create(AdvisoryEventSchema, { ...event, createTime });
  });
  const fields = { ...advisory, ...productOf(own), deleteTime: undefined, events };
  return save(parentOf(uid), create(AdvisorySchema, fields), context);
}

/** Errors: NOT_FOUND; FAILED_PRECONDITION when it is of a feed. */
export async function deleteAdvisory(uid: string, context: HandlerContext): Promise<void> {
  await requireOwn(uid, context);
  await removeAdvisory(transactionOf(context), uid, writeOf(context));
}

/** Adds an event to any advisory, now. Errors: NOT_FOUND, INVALID_ARGUMENT. */
export async function addEvent(uid: string, event: AdvisoryEvent, context: HandlerContext): Promise<AdvisoryEvent> {
  const stored = await toResponse(advisories, await findRow(advisories, uid, context), context);
  const own = (await ownOf(uid, context)) ?? create(AdvisorySchema, { ...stored, events: [] });
  const added = stamped(event, context);
  await save(parentOf(uid), create(AdvisorySchema, { ...own, events: [...own.events, added] }), context);
  return added;
}

/** Replaces an event but for its type and time. Errors: as {@link replaceAdvisory}. */
export async function replaceEvent(event: AdvisoryEvent, context: HandlerContext): Promise<AdvisoryEvent> {
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
}

async function save(group: string, advisory: Advisory, context: HandlerContext): Promise<Advisory> {
  await saveAdvisories(transactionOf(context), { ...writeOf(context), group, advisories: [advisory] });
  const uid = advisoryUid(group, advisory);
  return toResponse(advisories, await findRow(advisories, uid, context), context);
}

function writeOf(context: HandlerContext) {
  return { feed: apiFeed, nowMs: environmentOf(context).nowMs, onChange: recordIn(context) };
}

/** What the API has written of an advisory. */
function ownOf(uid: string, context: HandlerContext): Promise<Advisory | undefined> {
  return readOfFeed(advisoriesOfFeeds, transactionOf(context), apiFeed, uid);
}

async function requireOwn(uid: string, context: HandlerContext): Promise<Advisory> {
  await holdResource(advisories, uid, context);
  const own = await ownOf(uid, context);
  if (own === undefined) throw ofFeeds(uid);
  return own;
}

function stamped(event: AdvisoryEvent, context: HandlerContext): AdvisoryEvent {
  return create(AdvisoryEventSchema, { ...event, createTime: timestampFromMs(environmentOf(context).nowMs) });
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
