/** The advisories of a group that say what a document says, one for each advisory in it. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type {
  Detection,
  Detection_DetectionTypeScanV1,
  Document,
  DocumentAdvisory,
  DocumentEvent,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import {
  type Advisory,
  type AdvisoryEvent_DetectionSchema,
  type AdvisoryEventSchema,
  AdvisorySchema,
  ReviewState,
} from "../../../gen/platform/vulnerabilities/v2/advisories_pb.ts";

/** What an advisory has that a document has not. */
export interface Publication {
  /** Who wrote the advisories and their events. */
  readonly author: string;
  /** What the packages are: `apk`. */
  readonly artifactType: string;
}

/** Feeds speak of a package on every architecture, and where none says where in it, of all of it. */
const allArchitectures = "all";
const wholePackage = "/";

/**
 * Advisories without uids. The component is the one that a scanner detected last, of two at the same time the later in the list; where none did, it is the package itself. What a feed publishes
 * has been reviewed: its events are approved.
 */
export function advisoriesOf(document: Document, { author, artifactType }: Publication): Advisory[] {
  return mergedById(document.advisories).map(({ id, aliases, events }) => {
    const scanned = lastScanned(events);
    return create(AdvisorySchema, {
      advisoryId: id,
      author,
      artifactName: document.id,
      artifactType,
      artifactArchitecture: allArchitectures,
      componentName: scanned?.componentName || document.id,
      componentLocation: scanned?.componentLocation || wholePackage,
      componentType: scanned?.componentType || artifactType,
      aliases,
      events: events.map((event) => ({
        createTime: event.timestamp,
        author,
        reviewState: ReviewState.APPROVED,
        type: typeOf(event.data),
      })),
    });
  });
}

/** One of each id: a document has several where they are about packages of different types or distributions. */
function mergedById(advisories: Document["advisories"]): Pick<DocumentAdvisory, "id" | "aliases" | "events">[] {
  const merged = new Map<string, Pick<DocumentAdvisory, "id" | "aliases" | "events">>();
  for (const { id, aliases, events } of advisories) {
    const other = merged.get(id);
    if (other === undefined) merged.set(id, { id, aliases, events });
    else {
      const all = [...new Set([...other.aliases, ...aliases])];
      const both = [...other.events, ...events].sort((a, b) => timeOf(b) - timeOf(a));
      merged.set(id, { id, aliases: all, events: both });
    }
  }
  return [...merged.values()];
}

/** An event without a time is older than all. */
export function timeOf({ timestamp }: DocumentEvent): number {
  return timestamp === undefined ? Number.MIN_SAFE_INTEGER : timestampMs(timestamp);
}

function lastScanned(events: DocumentAdvisory["events"]): Detection_DetectionTypeScanV1 | undefined {
  let last: { readonly timeMs: number; readonly scan: Detection_DetectionTypeScanV1 } | undefined;
  for (const event of events) {
    const { data } = event;
    if (data.case !== "detection" || data.value.type.case !== "scanv1") continue;
    const timeMs = timeOf(event);
    if (last === undefined || timeMs >= last.timeMs) last = { timeMs, scan: data.value.type.value };
  }
  return last?.scan;
}

type EventType = NonNullable<MessageInitShape<typeof AdvisoryEventSchema>["type"]>;
type DetectionType = NonNullable<MessageInitShape<typeof AdvisoryEvent_DetectionSchema>["type"]>;

function typeOf(data: DocumentEvent["data"]): EventType {
  switch (data.case) {
    case "detection":
      return { case: "detection", value: { type: detectionOf(data.value.type) } };
    case "fixed": {
      const { fixedVersion, scannerVersion, grypeDbBuilt, grypeDbChecksum } = data.value;
      return { case: "fixed", value: { fixedVersion, scannerVersion, grypeDbBuilt, grypeDbChecksum } };
    }
    case "falsePositiveDetermination":
      return { case: data.case, value: { type: data.value.type, note: data.value.note } };
    case undefined:
      return { case: undefined };
    default:
      return { case: data.case, value: { note: data.value.note } };
  }
}

function detectionOf(type: Detection["type"]): DetectionType {
  switch (type.case) {
    case "nvdapi":
      return { case: "nvdapi", value: { cpeSearched: type.value.cpeSearched, cpeFound: type.value.cpeFound } };
    case "manual":
      return { case: "manual", value: {} };
    case "scanv1": {
      const { subpackageName: subpackage, componentName: component, $typeName: _, ...same } = type.value;
      return { case: "scanv1", value: { ...same, subpackage, component } };
    }
    case undefined:
      return { case: undefined };
  }
}
