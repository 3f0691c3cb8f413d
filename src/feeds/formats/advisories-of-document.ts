/** Converts the advisories of a document to advisories of a group. */

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
import type { Publication } from "./published.ts";

/** Feeds do not name architectures. Without a location, an advisory is about the whole package. */
const allArchitectures = "all";
const wholePackage = "/";

/**
 * The advisories of a document, without uids. The component is that of the latest scan, the later in the list of two at
 * the same time, or else the package itself. Events are approved, because publishers review them.
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

/** Merges advisories with the same id. A document has several for packages of different types or distributions. */
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

/** Milliseconds since 1970. An event without a time is before all others. */
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
