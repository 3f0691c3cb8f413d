/** CycloneDX 1.x in JSON. Reads the components that are packages, at any depth. */

import { Fields, type Unread } from "../records/fields.ts";
import { FeedRefusal } from "../source/refusal.ts";
import { type ListedPackage, listedPackage, maxPackages, sortPackages } from "./packages.ts";

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
const ignored: ReadonlySet<string> = new Set([
  "$schema",
  "annotations",
  "citations",
  "compositions",
  "declarations",
  "definitions",
  "dependencies",
  "externalReferences",
  "formulation",
  "metadata",
  "patents",
  "properties",
  "serialNumber",
  "services",
  "signature",
  "version",
  "vulnerabilities",
  ...[
    "author",
    "authors",
    "bom-ref",
    "copyright",
    "cpe",
    "cryptoProperties",
    "data",
    "description",
    "evidence",
    "externalReferences",
    "hashes",
    "isExternal",
    "licenses",
    "manufacturer",
    "mime-type",
    "modelCard",
    "modified",
    "omniborId",
    "patentAssertions",
    "pedigree",
    "properties",
    "publisher",
    "releaseNotes",
    "scope",
    "signature",
    "supplier",
    "swhid",
    "swid",
    "tags",
    "type",
    "version",
    "versionRange",
  ].map((member) => `components[].${member}`),
]);

/** Reads a parsed bill of materials. Errors: FeedRefusal. */
export function readCycloneDx(json: unknown, unread: Unread): readonly ListedPackage[] {
  const document = new Fields(json);
  if (document.text("bomFormat") !== "CycloneDX") throw new FeedRefusal("bomFormat: is not CycloneDX");
  if (!/^1\.[0-9]+$/.test(document.text("specVersion"))) throw new FeedRefusal("specVersion: is not 1.x");
  const packages: ListedPackage[] = [];
  readComponents(document, packages, 0);
  document.reportUnread(ignored, unread);
  return sortPackages(packages);
}

function readComponents(parent: Fields, packages: ListedPackage[], depth: number): void {
  if (depth > maxDepth) throw parent.refusal("components", `is deeper than ${maxDepth}`);
  for (const component of parent.objects("components", maxPackages)) {
    const listed = readComponent(component);
    if (listed !== undefined) packages.push(listed);
    if (packages.length > maxPackages) throw new FeedRefusal(`has more than ${maxPackages} components`);
    readComponents(component, packages, depth + 1);
  }
}

function readComponent(component: Fields): ListedPackage | undefined {
  const name = component.text("name", maxLength);
  const group = component.optionalText("group", maxLength) ?? "";
  const purl = component.optionalText("purl", maxLength);
  if (purl === undefined && otherTypes.has(component.optionalText("type") ?? "")) return undefined;
  const values = new Map(
    component
      .objects("properties", maxProperties)
      .map((property) => [property.optionalText("name", maxLength), property.optionalText("value", maxValueLength)]),
  );
  const first = (names: readonly string[]) => names.map((key) => values.get(key)).find((value) => value);
  return listedPackage(purl, {
    name: group === "" ? name : `${group}/${name}`,
    version: component.optionalText("version", maxLength),
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
