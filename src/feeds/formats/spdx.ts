/** SPDX 2.2 and 2.3 in JSON. Reads the packages of a document, without files and the described image itself. */

import { Fields, type Unread } from "../records/fields.ts";
import { FeedRefusal } from "../source/refusal.ts";
import { type ListedPackage, listedPackage, maxPackages, sortPackages } from "./packages.ts";

/** Purposes that are not packages in an image. */
const otherPurposes = new Set([
  "CONTAINER",
  "OPERATING-SYSTEM",
  "OPERATING_SYSTEM",
  "FILE",
  "SOURCE",
  "ARCHIVE",
  "DEVICE",
]);
const maxReferences = 1000;
const maxLength = 4096;

/** Types that some tools give only in `sourceInfo`: `acquired package info from APK DB: /lib/apk/db/installed`. */
const databases: readonly (readonly [RegExp, string])[] = [
  [/\bAPK DB\b/i, "apk"],
  [/\bDPKG DB\b/i, "deb"],
  [/\bRPM DB\b/i, "rpm"],
];

/** What Trivy writes about the source of a package of a distribution: `built package from: glibc 2.36-9+deb12u9`. */
const builtFrom = /^built package from: (\S+)(?: (\S+))?$/;

/** All other members of SPDX 2.3. */
const ignored: ReadonlySet<string> = new Set([
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
  document.reportUnread(ignored, unread);
  return sortPackages(packages);
}

function readPackage(item: Fields): ListedPackage | undefined {
  const name = item.text("name", maxLength);
  const version = item.optionalText("versionInfo", maxLength);
  const purl = item
    .objects("externalRefs", maxReferences)
    .find((reference) => reference.optionalText("referenceType") === "purl")
    ?.text("referenceLocator", maxLength);
  if (purl === undefined && otherPurposes.has(item.optionalText("primaryPackagePurpose") ?? "")) return undefined;
  const source = item.optionalText("sourceInfo", maxLength) ?? "";
  const type = databases.find(([pattern]) => pattern.test(source))?.[1];
  const [, origin, originVersion] = builtFrom.exec(source) ?? [];
  const given = version === "NOASSERTION" ? undefined : version;
  return listedPackage(purl, { name, version: given, type, origin, originVersion });
}
