/** CycloneDX 1.x in JSON. Reads the components that are packages, at any depth. */

import { Fields, ignoredMembers } from "../../records/fields.ts";
import { type ReadNotes, readEach } from "../../records/read-each.ts";
import { FeedRefusal } from "../../source/refusal.ts";
import { licensesOf, maxDetailLength, maxRelations, occurrencesOf, readDetail } from "./details.ts";
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
  owner: ["platform:package:owner"], // of documents that this product makes
  layer: ["syft:location:0:layerID", "aquasecurity:trivy:LayerDigest", "aquasecurity:trivy:LayerDiffID"],
} as const;
/** Properties with the path of a file by which a package was found. */
const pathProperty = /^(syft:location:\d+:path|aquasecurity:trivy:FilePath)$/;
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
  "components[].evidence": "*",
  "components[].evidence.occurrences[]": "*",
  "components[].licenses[]": "*",
  "components[].licenses[].license": "*",
  "dependencies[]": "*",
});

/** Reads a parsed bill of materials. Components that cannot be read are refused alone. Errors: FeedRefusal. */
export function readCycloneDx(json: unknown, notes: ReadNotes): Sbom {
  const document = new Fields(json);
  if (document.text("bomFormat") !== "CycloneDX") throw new FeedRefusal("bomFormat: is not CycloneDX");
  if (!/^1\.[0-9]+$/.test(document.text("specVersion"))) throw new FeedRefusal("specVersion: is not 1.x");
  const reading: Reading = { packages: new PackageList(), files: new Map(), notes };
  readComponents(document, reading, 0);
  readDependencies(document, reading);
  document.reportUnread(ignored, notes.unread);
  return reading.packages.toSbom(`CycloneDX ${document.text("specVersion")}`);
}

/** A document that is being read. */
interface Reading {
  readonly packages: PackageList;
  /** The paths of files that list packages, by the ids of their components. */
  readonly files: Map<string, string>;
  readonly notes: ReadNotes;
}

function readComponents(parent: Fields, reading: Reading, depth: number): void {
  if (depth > maxDepth) throw new FeedRefusal(`components are deeper than ${maxDepth}`);
  const components = parent.objects("components", maxPackages, reading.notes.refuse);
  readEach(components, reading.notes, (component) => readComponent(component, reading));
  for (const component of components) readComponents(component, reading, depth + 1);
}

function readComponent(component: Fields, { packages, files, notes }: Reading): void {
  const name = component.text("name", maxLength);
  const group = component.optionalText("group", maxLength) ?? "";
  const purl = component.optionalText("purl", maxLength);
  const version = component.optionalText("version", maxLength);
  const type = component.optionalText("type") ?? "";
  const id = readDetail("components[].bom-ref", notes, () => component.optionalText("bom-ref", maxDetailLength));
  // An application without a version is a file that lists packages.
  const isFile = type === "application" && !version;
  if (purl === undefined && (otherTypes.has(type) || isFile)) {
    if (isFile && id !== undefined) files.set(id, name);
    return;
  }
  const values = new Map(
    component
      .objects("properties", maxProperties)
      .map((property) => [property.optionalText("name", maxLength), property.optionalText("value", maxValueLength)]),
  );
  const first = (names: readonly string[]) => names.map((key) => values.get(key)).find((value) => value);
  const paths = [...values].flatMap(([key = "", path]) => (path && pathProperty.test(key) ? [path] : []));
  const fields = {
    name: group === "" ? name : `${group}/${name}`,
    version,
    architecture: first(properties.architecture),
    origin: first(properties.origin),
    originVersion: first(properties.originVersion) ?? trivySourceVersion(values),
    upstream: first(properties.upstream),
    licenses: licensesOf(component, notes),
    locations: [...paths, ...occurrencesOf(component, notes)].filter((path) => path.length <= maxDetailLength),
    owner: first(properties.owner)?.slice(0, maxDetailLength),
    layer: first(properties.layer)?.slice(0, maxDetailLength),
  };
  packages.add(purl, fields, id);
}

/** Reads which package depends on which. What a file that lists packages depends on was found by it. */
function readDependencies(document: Fields, { packages, files, notes }: Reading): void {
  const member = "dependencies[]";
  const all = readDetail(member, notes, () => document.objects("dependencies", maxRelations)) ?? [];
  for (const each of all) {
    const limits = { maxItems: maxPackages, maxLength: maxDetailLength };
    const ref = readDetail(member, notes, () => each.optionalText("ref", maxDetailLength));
    if (ref === undefined) continue;
    for (const dependency of readDetail(member, notes, () => each.texts("dependsOn", limits)) ?? []) {
      packages.addDependency(ref, dependency);
      if (files.has(ref)) packages.addPlace(dependency, files.get(ref), undefined);
    }
  }
}

/** The version of the source package, which Trivy gives in parts: epoch, version and release. */
function trivySourceVersion(values: ReadonlyMap<string | undefined, string | undefined>): string | undefined {
  const [epoch, version, release] = ["SrcEpoch", "SrcVersion", "SrcRelease"].map((name) =>
    values.get(`aquasecurity:trivy:${name}`),
  );
  if (!version) return undefined;
  return `${!epoch || epoch === "0" ? "" : `${epoch}:`}${version}${release ? `-${release}` : ""}`;
}
