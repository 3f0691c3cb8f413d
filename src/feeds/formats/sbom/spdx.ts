/**
 * SPDX 2.2 and 2.3 in JSON, and SPDX 3.0 in JSON-LD. Reads the packages of a document, without files and the described
 * image itself.
 */

import { Fields, ignoredMembers } from "../../records/fields.ts";
import { type ReadNotes, readEach } from "../../records/read-each.ts";
import { FeedRefusal } from "../../source/refusal.ts";
import { licenseFields, maxDetailLength, readDetail } from "./details.ts";
import { maxPackages, PackageList, type Sbom } from "./packages.ts";
import { readGraph, readRelations, type SpdxGraph } from "./spdx-relations.ts";

/** Purposes that are not packages in an image. */
const otherPurposes = new Set([
  "CONTAINER",
  "OPERATING-SYSTEM",
  "OPERATING_SYSTEM",
  "FILE",
  "SOURCE",
  "ARCHIVE",
  "DEVICE",
  // of SPDX 3
  "container",
  "operatingSystem",
  "file",
  "source",
  "archive",
  "device",
]);
const maxReferences = 1000;
const maxFiles = 100_000;
const maxLength = 4096;

/** Types that some tools give only in `sourceInfo`: `acquired package info from APK DB: /lib/apk/db/installed`. */
const databases: readonly (readonly [RegExp, string])[] = [
  [/\bAPK DB\b/i, "apk"],
  [/\bDPKG DB\b/i, "deb"],
  [/\bRPM DB\b/i, "rpm"],
];

/** The type of references that are package URLs, also as the URI that SPDX 2.2 has for it. */
const purlTypes = new Set(["purl", "http://spdx.org/rdf/references/purl"]);

/** What Trivy writes about the source of a package of a distribution: `built package from: glibc 2.36-9+deb12u9`. */
const builtFrom = /^built package from: (\S+)(?: (\S+))?$/;

/** The purposes in SPDX 2.2, which has no field for them, by the ids that Trivy gives. */
const trivyPurpose = /^SPDXRef-(Application|OperatingSystem|ContainerImage)-[0-9a-f]+$/;
const trivyPurposes: Readonly<Record<string, string>> = {
  Application: "APPLICATION",
  OperatingSystem: "OPERATING-SYSTEM",
  ContainerImage: "CONTAINER",
};

/** What syft writes about a package: `acquired package info from APK DB: /lib/apk/db/installed`. */
const acquiredFrom = /^acquired package info from [^:]+: (.+)$/;

/** What Trivy writes about the layer of a package, as texts or annotations: the digests of its blob and its content. */
const layerTexts = [/^LayerDigest: (\S+)$/, /^LayerDiffID: (\S+)$/];

/** All other members of SPDX 2.3. */
const ignored = ignoredMembers({
  "": `
    SPDXID annotations comment creationInfo dataLicense documentDescribes documentNamespace externalDocumentRefs files
    hasExtractedLicensingInfos name relationships revieweds snippets`,
  "packages[]": `
    SPDXID annotations attributionTexts builtDate checksums comment copyrightText description downloadLocation
    filesAnalyzed hasFiles homepage licenseComments licenseConcluded licenseDeclared licenseInfoFromFiles originator
    packageFileName packageVerificationCode primaryPackagePurpose releaseDate sourceInfo summary supplier validUntilDate`,
  "packages[].annotations[]": "*",
  "packages[].externalRefs[]": "comment referenceCategory referenceLocator referenceType",
  "files[]": "*",
  "hasExtractedLicensingInfos[]": "*",
  "relationships[]": "*",
});

/** Members of the elements of SPDX 3, most of which are not packages. */
const ignored3 = ignoredMembers({
  "": "@context @graph[].*",
  "@graph[].externalIdentifier[]": "comment externalIdentifierType identifier identifierLocator issuingAuthority type",
});

const maxElements = 1_000_000;

/** Reads a parsed document of SPDX 2. Packages that cannot be read are refused alone. Errors: FeedRefusal. */
export function readSpdx(json: unknown, notes: ReadNotes): Sbom {
  const document = new Fields(json);
  const version = document.text("spdxVersion");
  if (!/^SPDX-2\.[23]$/.test(version))
    throw new FeedRefusal(`spdxVersion: ${JSON.stringify(version)} is not SPDX-2.2 or SPDX-2.3`);
  const packages = new PackageList();
  const reading: Reading = {
    packages,
    files: new Map(),
    contained: [],
    licenses: licenseNames(document, notes),
    notes,
  };
  readEach(document.objects("packages", maxPackages, notes.refuse), notes, (item) => readPackage(item, reading));
  readRelations(document, reading);
  document.reportUnread(ignored, notes.unread);
  return packages.toSbom(version.replace("-", " "));
}

/** A document of SPDX 2 that is being read. */
interface Reading {
  readonly packages: PackageList;
  /** The paths of files that list packages, by their ids. */
  readonly files: Map<string, string>;
  /** Packages and the files that they name themselves, by their ids. */
  readonly contained: (readonly [packageId: string, fileId: string])[];
  /** The names of licences that the document itself defines, by their ids. */
  readonly licenses: ReadonlyMap<string, string>;
  readonly notes: ReadNotes;
}

function licenseNames(document: Fields, notes: ReadNotes): ReadonlyMap<string, string> {
  const member = "hasExtractedLicensingInfos[]";
  const infos = readDetail(member, notes, () => document.objects("hasExtractedLicensingInfos", maxPackages)) ?? [];
  const named = infos.flatMap((info): [string, string][] => {
    const pair = readDetail(member, notes, () => [info.optionalText("licenseId"), info.optionalText("name")]);
    const [id, name] = pair ?? [];
    return id && name && name !== "NOASSERTION" ? [[id, name]] : [];
  });
  return new Map(named);
}

function readPackage(item: Fields, { packages, files, contained, licenses, notes }: Reading): void {
  const purl = item
    .objects("externalRefs", maxReferences)
    .find((reference) => purlTypes.has(reference.optionalText("referenceType") ?? ""))
    ?.text("referenceLocator", maxLength);
  const id = readDetail("packages[].SPDXID", notes, () => item.optionalText("SPDXID", maxDetailLength));
  const given = {
    name: item.text("name", maxLength),
    version: item.optionalText("versionInfo", maxLength),
    purl,
    purpose: item.optionalText("primaryPackagePurpose") ?? trivyPurposes[trivyPurpose.exec(id ?? "")?.[1] ?? ""],
    source: item.optionalText("sourceInfo", maxLength),
    id,
  };
  const limits = { maxItems: maxFiles, maxLength: maxDetailLength };
  for (const file of readDetail("packages[].hasFiles", notes, () => item.texts("hasFiles", limits)) ?? [])
    if (id !== undefined) contained.push([id, file]);
  const fields = ["licenseConcluded", "licenseDeclared"];
  addPackage(packages, files, given, licenseFields(item, fields, licenses, notes), layerOf(item, notes));
}

/** The layer of a package, which Trivy writes into attribution texts or, later, into annotations. */
function layerOf(item: Fields, notes: ReadNotes): string | undefined {
  const limits = { maxItems: maxReferences, maxLength: maxDetailLength };
  const texts = readDetail("packages[].attributionTexts", notes, () => item.texts("attributionTexts", limits)) ?? [];
  const comments = readDetail("packages[].annotations[]", notes, () =>
    item.objects("annotations", maxReferences).map((each) => each.optionalText("comment", maxDetailLength) ?? ""),
  );
  const all = [...texts, ...(comments ?? [])];
  return layerTexts.flatMap((pattern) => all.flatMap((text) => pattern.exec(text)?.[1] ?? []))[0];
}

/** Reads a parsed document of SPDX 3. Packages that cannot be read are refused alone. Errors: FeedRefusal. */
export function readSpdx3(json: unknown, notes: ReadNotes): Sbom {
  const document = new Fields(json);
  const packages = new PackageList();
  const elements = document.objects("@graph", maxElements, notes.refuse);
  const isPackage = (element: Fields) => element.isText("type") && element.text("type") === "software_Package";
  const graph = readGraph(elements, notes);
  readEach(elements.filter(isPackage), notes, (element) => readElement(element, packages, graph, notes));
  graph.relate(packages);
  document.reportUnread(ignored3, notes.unread);
  return packages.toSbom("SPDX 3");
}

function readElement(element: Fields, packages: PackageList, graph: SpdxGraph, notes: ReadNotes): void {
  const identifier = element
    .objects("externalIdentifier", maxReferences)
    .find((each) => each.optionalText("externalIdentifierType") === "packageUrl")
    ?.text("identifier", maxLength);
  const id = readDetail("@graph[].spdxId", notes, () => element.optionalText("spdxId", maxDetailLength));
  const given = {
    name: element.text("name", maxLength),
    version: element.optionalText("software_packageVersion", maxLength),
    purl: element.optionalText("software_packageUrl", maxLength) ?? identifier,
    purpose: element.optionalText("software_primaryPurpose"),
    source: element.optionalText("software_sourceInfo", maxLength),
    id,
  };
  addPackage(packages, graph.files, given, graph.licensesOf(id), undefined);
}

type Given<N extends string> = { readonly [F in N]: string | undefined };

function addPackage(
  packages: PackageList,
  files: Map<string, string>,
  given: Given<"version" | "purl" | "purpose" | "source" | "id"> & { readonly name: string },
  licenses: readonly string[],
  layer: string | undefined,
): void {
  const { name, purl, purpose = "", source = "", id } = given;
  const version = given.version === "NOASSERTION" || given.version === "" ? undefined : given.version;
  // An application without a version is a file that lists packages.
  const isFile = /^application$/i.test(purpose) && version === undefined;
  if (purl === undefined && (otherPurposes.has(purpose) || isFile)) {
    if (isFile && id !== undefined) files.set(id, source || name);
    return;
  }
  const type = databases.find(([pattern]) => pattern.test(source))?.[1];
  const [, origin, originVersion] = builtFrom.exec(source) ?? [];
  const locations = acquiredFrom.exec(source)?.[1]?.split(", ") ?? [];
  packages.add(purl, { name, version, type, origin, originVersion, licenses, locations, layer }, id);
}
