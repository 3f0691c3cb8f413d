/**
 * What the advisories of a document say about its package, in the form of all feeds: each advisory is a record with its
 * events. An advisory of a distribution is about a package by its name, and about what is built from it. A statement of
 * VEX is about the product that it names, and about no other version if it names one.
 */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Detection,
  type Document,
  type DocumentAdvisory,
  type DocumentEvent,
  FalsePositiveDetermination_Type,
  FalsePositiveDetermination_TypeSchema as typeNames,
} from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import {
  canonicalRelease,
  type PackageFact,
  packageKey,
  type StatusEvent,
  type UnmatchedReason,
  unmatchedReason,
} from "../../matching/index.ts";
import {
  isDistributionType,
  isImageType,
  type PackageUrl,
  packageVersion,
  parsePackageUrl,
} from "../../package-url.ts";
import type { RecordToSave } from "../matches/fact-writer.ts";

/** The kinds of events that only have a note. */
const kinds = {
  truePositiveDetermination: "TRUE_POSITIVE",
  analysisNotPlanned: "ANALYSIS_NOT_PLANNED",
  fixNotPlanned: "FIX_NOT_PLANNED",
  pendingUpstreamFix: "PENDING_UPSTREAM",
} as const;

/** The records of a document. @param isVex whether its advisories are statements of VEX. */
export function recordsOfDocument({ advisories }: Document, isVex: boolean): readonly RecordToSave[] {
  return advisories.map((advisory): RecordToSave => {
    const { id, aliases, packageUrl = "", subcomponent = "", events } = advisory;
    const times = events.flatMap(({ timestamp }) => (timestamp === undefined ? [] : [timestampMs(timestamp)]));
    const said = eventsOf(advisory);
    return {
      key: JSON.stringify([id, packageUrl, subcomponent]),
      facts: {
        id,
        aliases: aliases.filter((alias) => alias !== id),
        upstream: [],
        related: [],
        summary: "",
        ...(times.length > 0 && { publishMs: Math.min(...times), modifyMs: Math.max(...times) }),
        weaknesses: [],
        ratings: [],
        packages: said.length === 0 ? [] : [factOf(advisory, isVex, said)],
      },
    };
  });
}

/** Why nothing can be matched with records, in words for people, once for each package. */
export function unmatchedIn(records: readonly RecordToSave[]): string[] {
  return records.flatMap(({ facts }) => facts.packages.flatMap(({ unmatched }) => unmatched ?? []));
}

function factOf(
  { packageUrl = "", subcomponent }: DocumentAdvisory,
  isVex: boolean,
  events: readonly StatusEvent[],
): PackageFact {
  const url = parsePackageUrl(packageUrl);
  const unmatched = url === undefined ? "is not a package URL" : reasonOf(url);
  if (url === undefined || unmatched !== undefined)
    return { kind: isVex ? "vex" : "advisory", key: "", facts: [], events, name: packageUrl, unmatched };
  const key = packageKey(url);
  const version = packageVersion(url);
  const distro = isDistributionType(url.type)
    ? canonicalRelease(url.qualifiers.get("distro") ?? "", url.namespace)
    : "";
  const versions = isVex && version !== "" ? [version] : [];
  const fact = { key, distro, ...(isVex && { isSource: false }), ranges: [], versions };
  const isExact = versions.length > 0 || subcomponent !== undefined;
  return {
    kind: isVex ? (isExact ? "vex-exact" : "vex") : "advisory",
    key,
    facts: [fact],
    events,
    ...(subcomponent !== undefined && { subcomponent }),
  };
}

function reasonOf(url: PackageUrl): UnmatchedReason | undefined {
  return isImageType(url.type) ? "is an image, not a package" : unmatchedReason(url);
}

/** The events of an advisory. */
export function eventsOf({ events }: Pick<DocumentAdvisory, "events">): StatusEvent[] {
  return events.flatMap(eventOf);
}

function eventOf({ timestamp, data }: DocumentEvent): StatusEvent[] {
  const at = timestamp === undefined ? {} : { timeMs: timestampMs(timestamp) };
  switch (data.case) {
    case undefined:
      return [];
    case "detection":
      return [{ kind: "DETECTION", ...at, ...partOf(data.value.type) }];
    case "fixed":
      return [{ kind: "FIXED", ...at, fixedVersion: data.value.fixedVersion }];
    case "falsePositiveDetermination": {
      const { type, note } = data.value;
      const stated = type === FalsePositiveDetermination_Type.UNSPECIFIED ? undefined : typeNames.value[type];
      return [{ kind: "FALSE_POSITIVE", ...at, ...(stated && { justification: stated.localName }), ...noted(note) }];
    }
    default:
      return [{ kind: kinds[data.case], ...at, ...noted(data.value.note) }];
  }
}

function partOf(type: Detection["type"]) {
  return type.case === "scanv1" && type.value.componentName !== "" ? { part: type.value.componentName } : {};
}

function noted(note: string) {
  return note === "" ? {} : { note };
}
