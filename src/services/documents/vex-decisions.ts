/** What VEX documents that groups have uploaded say of findings in the images below these groups. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { DocumentAdvisory } from "../../../gen/platform/advisory/v2/security_advisory_pb.ts";
import { type StatusEvent, statusOfEvents } from "../../matching/index.ts";
import { isImageType, packageVersion, parsePackageUrl } from "../../package-url.ts";
import type { ReadSession } from "../../store/index.ts";
import { eventsOf } from "../advisory/document-facts.ts";
import type { Decision, Said } from "../decisions/decision.ts";
import { PackageRange } from "../decisions/package-range.ts";
import { type GroupVex, vexBelow } from "./vex-documents.ts";

/** What all VEX documents of an organisation state. */
export async function vexDecisionsBelow(session: ReadSession, organisation: string): Promise<Decision[]> {
  const found: Decision[] = [];
  for await (const documents of vexBelow(session, organisation))
    for (const document of documents)
      for (const { advisories } of document.documents)
        for (const advisory of advisories) found.push(...decisionsOf(advisory, document));
  return found;
}

/** A statement is about an image, about a part of a package, or about a package; none if it is about anything else. */
function decisionsOf(advisory: DocumentAdvisory, { group, uid, updateMs }: GroupVex): Decision[] {
  const { id, aliases, packageUrl = "", subcomponent = "", events } = advisory;
  const url = parsePackageUrl(packageUrl);
  const said = eventsOf(advisory);
  const part = subcomponent === "" ? undefined : PackageRange.read(subcomponent, "");
  if (url === undefined || said.length === 0 || (part !== undefined && "problem" in part)) return [];
  const version = packageVersion(url);
  const times = events.flatMap(({ timestamp }) => (timestamp === undefined ? [] : [timestampMs(timestamp)]));
  const common = {
    key: JSON.stringify([uid, updateMs, id, packageUrl, subcomponent]),
    ...{ uid, group, ids: [id, ...aliases], repos: none, digests: none, untilMs: undefined },
    timeMs: times.length === 0 ? updateMs : Math.max(...times),
  };
  if (isImageType(url.type)) {
    if (!/^sha256:[0-9a-f]{64}$/.test(version)) return [];
    const saidOfImage = saidOfExact(said, url.type, version);
    return [{ ...common, kind: "vex-exact", packages: part, digests: new Set([version]), say: () => saidOfImage }];
  }
  const product = PackageRange.read(packageUrl, "");
  if (product === undefined || "problem" in product) return [];
  if (part !== undefined) {
    const saidOfPart = saidOfExact(said, url.type, version);
    return [{ ...common, kind: "vex-exact", packages: part, owners: product, say: () => saidOfPart }];
  }
  const kind = version === "" ? "vex" : "vex-exact";
  return [
    { ...common, kind, packages: product, say: (component) => statusOfEvents(said, component.type, component.version) },
  ];
}

const none: ReadonlySet<string> = new Set();

/** What is said of an image or a part of a package, whose versions are not compared: of nothing else is it said. */
function saidOfExact(events: readonly StatusEvent[], type: string, version: string): Said | undefined {
  const status = statusOfEvents(events, type, version);
  return status?.versionUnordered ? { ...status, state: "FIXED", fixState: "FIXED" } : status;
}
