/**
 * SPDX 2.2 and 2.3 in JSON, and SPDX 3.0 in JSON-LD. Reads the packages of a document, without files and the described
 * image itself.
 */

import { Fields, ignoredMembers } from "../../records/fields.ts";
import { type ReadNotes, readEach } from "../../records/read-each.ts";
import { FeedRefusal } from "../../source/refusal.ts";
import { maxPackages, PackageList, type Sbom } from "./packages.ts";

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

/** All other members of SPDX 2.3. */
const ignored = ignoredMembers({
  "": `
    SPDXID annotations comment creationInfo dataLicense documentDescribes documentNamespace externalDocumentRefs files
    hasExtractedLicensingInfos name relationships revieweds snippets`,
  "packages[]": `
    SPDXID annotations attributionTexts builtDate checksums comment copyrightText description downloadLocation
    filesAnalyzed hasFiles homepage licenseComments licenseConcluded licenseDeclared licenseInfoFromFiles originator
    packageFileName packageVerificationCode primaryPackagePurpose releaseDate sourceInfo summary supplier validUntilDate`,
  "packages[].externalRefs[]": "comment referenceCategory referenceLocator referenceType",
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
  readEach(document.objects("packages", maxPackages, notes.refuse), notes, (item) => readPackage(item, packages));
  document.reportUnread(ignored, notes.unread);
  return packages.toSbom();
}

function readPackage(item: Fields, packages: PackageList): void {
  const purl = item
    .objects("externalRefs", maxReferences)
    .find((reference) => purlTypes.has(reference.optionalText("referenceType") ?? ""))
    ?.text("referenceLocator", maxLength);
  addPackage(packages, {
    name: item.text("name", maxLength),
    version: item.optionalText("versionInfo", maxLength),
    purl,
    purpose: item.optionalText("primaryPackagePurpose"),
    source: item.optionalText("sourceInfo", maxLength),
  });
}

/** Reads a parsed document of SPDX 3. Packages that cannot be read are refused alone. Errors: FeedRefusal. */
export function readSpdx3(json: unknown, notes: ReadNotes): Sbom {
  const document = new Fields(json);
  const packages = new PackageList();
  const elements = document.objects("@graph", maxElements, notes.refuse);
  const isPackage = (element: Fields) => element.isText("type") && element.text("type") === "software_Package";
  readEach(elements.filter(isPackage), notes, (element) => readElement(element, packages));
  document.reportUnread(ignored3, notes.unread);
  return packages.toSbom();
}

function readElement(element: Fields, packages: PackageList): void {
  const identifier = element
    .objects("externalIdentifier", maxReferences)
    .find((each) => each.optionalText("externalIdentifierType") === "packageUrl")
    ?.text("identifier", maxLength);
  addPackage(packages, {
    name: element.text("name", maxLength),
    version: element.optionalText("software_packageVersion", maxLength),
    purl: element.optionalText("software_packageUrl", maxLength) ?? identifier,
    purpose: element.optionalText("software_primaryPurpose"),
    source: element.optionalText("software_sourceInfo", maxLength),
  });
}

type Given<N extends string> = { readonly [F in N]: string | undefined };

function addPackage(
  packages: PackageList,
  { name, version, purl, purpose = "", source = "" }: Given<"name" | "version" | "purl" | "purpose" | "source">,
): void {
  const given = version === "NOASSERTION" || version === "" ? undefined : version;
  // An application without a version is a file that lists packages.
  const isFile = /^application$/i.test(purpose) && given === undefined;
  if (purl === undefined && (otherPurposes.has(purpose) || isFile)) return;
  const type = databases.find(([pattern]) => pattern.test(source))?.[1];
  const [, origin, originVersion] = builtFrom.exec(source) ?? [];
  packages.add(purl, { name, version: given, type, origin, originVersion });
}
