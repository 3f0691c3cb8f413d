/** SPDX 2.2 and 2.3 in JSON: the packages of a document. Files, and what the document describes as a whole, are no packages. */
import { FeedRefusal, Fields, type Unread } from "../fields.ts";
import { type ListedPackage, listedPackage, maxPackages, sortPackages } from "./packages.ts";

/** Purposes that are not those of a package in an image. */
const others = new Set(["CONTAINER", "OPERATING-SYSTEM", "OPERATING_SYSTEM", "FILE", "SOURCE", "ARCHIVE", "DEVICE"]);
const maxReferences = 1000;
const maxLength = 4096;

/** Kinds that some tools tell in words only: `acquired package info from APK DB: /lib/apk/db/installed`. */
const databases: readonly (readonly [RegExp, string])[] = [
  [/\bAPK DB\b/i, "apk"],
  [/\bDPKG DB\b/i, "deb"],
  [/\bRPM DB\b/i, "rpm"],
];

/** Everything else of SPDX 2.3: who made the document, licences, files, relationships, and what a package is beside its name and version. */
const intended: ReadonlySet<string> = new Set([
  "SPDXID",
  "annotations",
  "comment",
  "creationInfo",
  "dataLicense",
  "documentDescribes",
  "documentNamespace",
  "externalDocumentRefs",
  "files",
  "hasExtractedLicensingInfos",
  "name",
  "relationships",
  "revieweds",
  "snippets",
  ...[
    "SPDXID",
    "annotations",
    "attributionTexts",
    "builtDate",
    "checksums",
    "comment",
    "copyrightText",
    "description",
    "downloadLocation",
    "externalRefs[].comment",
    "externalRefs[].referenceCategory",
    "externalRefs[].referenceLocator",
    "externalRefs[].referenceType",
    "filesAnalyzed",
    "hasFiles",
    "homepage",
    "licenseComments",
    "licenseConcluded",
    "licenseDeclared",
    "licenseInfoFromFiles",
    "originator",
    "packageFileName",
    "packageVerificationCode",
    "primaryPackagePurpose",
    "releaseDate",
    "sourceInfo",
    "summary",
    "supplier",
    "validUntilDate",
  ].map((member) => `packages[].${member}`),
]);

/** Reads a parsed document. Errors: FeedRefusal. */
export function readSpdx(json: unknown, unread: Unread): readonly ListedPackage[] {
  const document = new Fields(json);
  const version = document.text("spdxVersion");
  if (!/^SPDX-2\.[23]$/.test(version))
    throw new FeedRefusal(`spdxVersion: ${JSON.stringify(version)} is not SPDX-2.2 or SPDX-2.3`);
  const packages = document.objects("packages", maxPackages).flatMap((item) => readPackage(item) ?? []);
  document.tellUnread(intended, unread);
  return sortPackages(packages);
}

function readPackage(item: Fields): ListedPackage | undefined {
  const name = item.text("name", maxLength);
  const version = item.optionalText("versionInfo", maxLength);
  const purl = item
    .objects("externalRefs", maxReferences)
    .find((reference) => reference.optionalText("referenceType") === "purl")
    ?.text("referenceLocator", maxLength);
  if (purl === undefined && others.has(item.optionalText("primaryPackagePurpose") ?? "")) return undefined;
  const source = item.optionalText("sourceInfo", maxLength) ?? "";
  const type = databases.find(([pattern]) => pattern.test(source))?.[1];
  return listedPackage(purl, { name, version: version === "NOASSERTION" ? undefined : version, type });
}
