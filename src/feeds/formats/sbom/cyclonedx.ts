/** CycloneDX 1.x in JSON. Reads the components that are packages, at any depth. */

import { Fields, ignoredMembers } from "../../records/fields.ts";
import { type ReadNotes, readEach } from "../../records/read-each.ts";
import { FeedRefusal } from "../../source/refusal.ts";
import { maxPackages, PackageList, type Sbom } from "./packages.ts";

/** Types of components that are not packages in an image. */
const otherTypes = new Set([
  "container",
  "operating-system",
  "device",
  "device-driver",
  "file",
  "platform",
  "firmware",
  "data",
]);
/** Properties of common tools for values without a CycloneDX field. */
const properties = {
  architecture: ["syft:metadata:architecture"],
  origin: ["syft:metadata:originPackage", "syft:metadata:source", "aquasecurity:trivy:SrcName"],
  originVersion: ["syft:metadata:sourceVersion"],
  upstream: ["syft:metadata:sourceRpm"],
} as const;
const maxDepth = 20;
const maxProperties = 10_000;
const maxLength = 4096;
const maxValueLength = 1024 * 1024;

/** All other members of CycloneDX 1.0 to 1.7. */
const ignored = ignoredMembers({
  "": `
    $schema annotations citations compositions declarations definitions dependencies externalReferences formulation
    metadata patents properties serialNumber services signature version vulnerabilities`,
  "components[]": `
    author authors bom-ref copyright cpe cryptoProperties data description evidence externalReferences hashes isExternal
    licenses manufacturer mime-type modelCard modified omniborId patentAssertions pedigree properties publisher
    releaseNotes scope signature supplier swhid swid tags type version versionRange`,
});

/** Reads a parsed bill of materials. Components that cannot be read are refused alone. Errors: FeedRefusal. */
export function readCycloneDx(json: unknown, notes: ReadNotes): Sbom {
  const document = new Fields(json);
  if (document.text("bomFormat") !== "CycloneDX") throw new FeedRefusal("bomFormat: is not CycloneDX");
  if (!/^1\.[0-9]+$/.test(document.text("specVersion"))) throw new FeedRefusal("specVersion: is not 1.x");
  const packages = new PackageList();
  readComponents(document, packages, notes, 0);
  document.reportUnread(ignored, notes.unread);
  return packages.toSbom();
}

function readComponents(parent: Fields, packages: PackageList, notes: ReadNotes, depth: number): void {
  if (depth > maxDepth) throw new FeedRefusal(`components are deeper than ${maxDepth}`);
  const components = parent.objects("components", maxPackages, notes.refuse);
  readEach(components, notes, (component) => readComponent(component, packages));
  for (const component of components) readComponents(component, packages, notes, depth + 1);
}

function readComponent(component: Fields, packages: PackageList): void {
  const name = component.text("name", maxLength);
  const group = component.optionalText("group", maxLength) ?? "";
  const purl = component.optionalText("purl", maxLength);
  const version = component.optionalText("version", maxLength);
  const type = component.optionalText("type") ?? "";
  // An application without a version is a file that lists packages.
  if (purl === undefined && (otherTypes.has(type) || (type === "application" && !version))) return;
  const values = new Map(
    component
      .objects("properties", maxProperties)
      .map((property) => [property.optionalText("name", maxLength), property.optionalText("value", maxValueLength)]),
  );
  const first = (names: readonly string[]) => names.map((key) => values.get(key)).find((value) => value);
  packages.add(purl, {
    name: group === "" ? name : `${group}/${name}`,
    version,
    architecture: first(properties.architecture),
    origin: first(properties.origin),
    originVersion: first(properties.originVersion) ?? trivySourceVersion(values),
    upstream: first(properties.upstream),
  });
}

/** The version of the source package, which Trivy gives in parts: epoch, version and release. */
function trivySourceVersion(values: ReadonlyMap<string | undefined, string | undefined>): string | undefined {
  const [epoch, version, release] = ["SrcEpoch", "SrcVersion", "SrcRelease"].map((name) =>
    values.get(`aquasecurity:trivy:${name}`),
  );
  if (!version) return undefined;
  return `${!epoch || epoch === "0" ? "" : `${epoch}:`}${version}${release ? `-${release}` : ""}`;
}
