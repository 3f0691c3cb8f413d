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
import { packageName, packageVersion, parsePackageUrl } from "../../package-url.ts";
import type { Publication } from "./published.ts";

/** Feeds do not name architectures. Without a location, an advisory is about the whole package. */
const allArchitectures = "all";
const wholePackage = "/";
/** Type of a component that is not a package URL: the one of packages that no other type fits. */
const unknownType = "generic";

/**
 * The advisories of a document, without uids. Those of a format that names products are about the version, the
 * architecture and the subcomponent of the product. Otherwise the component is that of the latest scan, the later in
 * the list of two at the same time, or else the package itself. Events are approved, because publishers review them.
 */
export function advisoriesOf(document: Document, { author, artifactType }: Publication): Advisory[] {
  return document.advisories.map((advisory) => {
    const about = artifactType === undefined ? aboutProduct(advisory) : { artifactType };
    const component = advisory.subcomponent === undefined ? scannedComponent(advisory) : ofUrl(advisory.subcomponent);
    return create(AdvisorySchema, {
      advisoryId: advisory.id,
      author,
      artifactName: document.id,
      artifactArchitecture: allArchitectures,
      ...about,
      componentName: component.name || document.id,
      componentLocation: component.location || wholePackage,
      componentType: component.type || about.artifactType,
      aliases: advisory.aliases,
      events: advisory.events.map((event) => ({
        createTime: event.timestamp,
        author,
        reviewState: ReviewState.APPROVED,
        type: typeOf(event.data),
      })),
    });
  });
}

/** The fields about the product of a statement. */
function aboutProduct({ packageUrl = "", subcomponent }: DocumentAdvisory) {
  const url = parsePackageUrl(packageUrl)!; // as the reader has made it
  const version = packageVersion(url);
  const architecture = url.qualifiers.get("arch");
  return {
    packageUrl,
    artifactType: url.type,
    ...(architecture && { artifactArchitecture: architecture }),
    ...(version !== "" && { artifactVersion: version }),
    ...(subcomponent !== undefined && { subcomponent }),
  };
}

/** Name, type and place of a component; a field is absent if unknown. */
interface Component {
  readonly name?: string;
  readonly type?: string;
  readonly location?: string;
}

function ofUrl(subcomponent: string): Component {
  const url = parsePackageUrl(subcomponent);
  return url === undefined ? { name: subcomponent, type: unknownType } : { name: packageName(url), type: url.type };
}

function scannedComponent({ events }: DocumentAdvisory): Component {
  const scanned = lastScanned(events);
  if (scanned === undefined) return {};
  const { componentName: name, componentType: type, componentLocation: location } = scanned;
  return { name, type, location };
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
