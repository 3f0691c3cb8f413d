/** SPDX 2.3 of what is known about an image. What the format has no field for is written as Trivy and syft write it. */
import { createHash } from "node:crypto";
import type { ImagePackage } from "../../registry/image-packages.ts";
import { type ImageFacts, type ImagePart, imagePurl, isExpression, purlOf } from "./image-facts.ts";
import { contentUuid, documentText } from "./json-document.ts";

/** The format requires a time. It is the same for all, so that the document is the same for the same facts. */
const created = "1970-01-01T00:00:00Z";

const ownership = "ownership-by-file-overlap: the package owns files of the other one";

/** Packages that are written before other calls may have their turn. */
const portion = 500;

/** The document. @param pause lets other calls have their turn. */
export async function toSpdx(facts: ImageFacts, pause: () => Promise<void> | undefined): Promise<string> {
  const { name, digest, parts } = facts;
  const licenses = new Map<string, string>();
  const packages: string[] = [JSON.stringify(imagePackage(facts, digest, "SPDXRef-Image"))];
  const relations: string[] = [relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image")];
  for (const [number, part] of parts.entries()) {
    const isImage = part.platform === "";
    const holder = isImage ? "SPDXRef-Image" : `SPDXRef-Platform-${number + 1}`;
    if (!isImage) {
      packages.push(JSON.stringify({ ...imagePackage(facts, part.digest, holder), comment: part.platform }));
      relations.push(relation("SPDXRef-Image", "CONTAINS", holder));
    }
    const idOf = (index: number) => `SPDXRef-Package-${number + 1}-${index + 1}`;
    const { packages: listed, unmatched = [], dependencies = [] } = part.list;
    for (const [i, each] of listed.entries()) {
      if (i % portion === 0) await pause();
      packages.push(JSON.stringify(packageItem(each, idOf(i), licenses)));
      relations.push(relation(holder, "CONTAINS", idOf(i)));
    }
    const left = unmatched.filter(({ version }) => version === "");
    for (const [i, each] of left.entries()) {
      packages.push(JSON.stringify(item(idOf(listed.length + i), each.name, "", each.purl)));
      relations.push(relation(holder, "CONTAINS", idOf(listed.length + i)));
    }
    for (const [dependent, dependency] of dependencies)
      relations.push(relation(idOf(dependent), "DEPENDS_ON", idOf(dependency)));
    relations.push(...ownerships(part, idOf));
  }
  const texts = [...licenses]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([licenseId, text]) => JSON.stringify({ licenseId, name: text, extractedText: text }));
  const uuid = contentUuid([name, digest, ...packages, ...relations, ...texts]);
  return documentText([
    ["spdxVersion", "SPDX-2.3"],
    ["dataLicense", "CC0-1.0"],
    ["SPDXID", "SPDXRef-DOCUMENT"],
    ["name", name],
    ["documentNamespace", `urn:uuid:${uuid}`],
    ["creationInfo", { created, creators: ["Tool: platform-api"] }],
    ["packages", undefined, packages],
    ["hasExtractedLicensingInfos", undefined, texts],
    ["relationships", undefined, relations],
  ]);
}

function relation(from: string, type: string, to: string, comment?: string): string {
  return JSON.stringify({ spdxElementId: from, relationshipType: type, relatedSpdxElement: to, comment });
}

function item(id: string, name: string, version: string, purl: string | undefined, licenseDeclared = "NOASSERTION") {
  const reference = { referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: purl };
  return {
    SPDXID: id,
    name,
    ...(version !== "" && { versionInfo: version }),
    supplier: "NOASSERTION",
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared,
    copyrightText: "NOASSERTION",
    ...(purl !== undefined && { externalRefs: [reference] }),
  };
}

function imagePackage({ name }: ImageFacts, digest: string, id: string) {
  const checksumValue = digest.replace(/^sha256:/, "");
  return {
    ...item(id, name, digest, imagePurl({ name, digest })),
    ...(/^[0-9a-f]{64}$/.test(checksumValue) && { checksums: [{ algorithm: "SHA256", checksumValue }] }),
    primaryPackagePurpose: "CONTAINER",
  };
}

function packageItem(each: ImagePackage, id: string, texts: Map<string, string>) {
  const { name, version, origin, originVersion, layer, licenses = [], locations = [] } = each;
  const from = `built package from: ${[origin, originVersion].filter(Boolean).join(" ")}`;
  return {
    ...item(id, name, version, purlOf(each), licenseDeclaredOf(licenses, texts)),
    ...(origin !== "" && { sourceInfo: from }),
    ...(layer !== undefined && { attributionTexts: [`LayerDigest: ${layer}`] }),
    ...(locations.length > 0 && { comment: `found by: ${locations.join(", ")}` }),
  };
}

/** All licences as one expression. Those that have not the form of one get an id in this document. */
function licenseDeclaredOf(licenses: readonly string[], texts: Map<string, string>): string {
  if (licenses.length === 0) return "NOASSERTION";
  const terms = licenses.map((license) => {
    if (isExpression(license)) return licenses.length > 1 && / /.test(license) ? `(${license})` : license;
    const id = `LicenseRef-${createHash("sha256").update(license).digest("hex").slice(0, 16)}`;
    texts.set(id, license);
    return id;
  });
  return terms.join(" AND ");
}

function ownerships({ list }: ImagePart, idOf: (index: number) => string): string[] {
  const owners = new Map(list.packages.flatMap(({ purl }, i) => (purl === undefined ? [] : [[purl, i] as const])));
  return list.packages.flatMap(({ owner }, i) => {
    const index = owner === undefined ? undefined : owners.get(owner);
    return index === undefined ? [] : [relation(idOf(index), "OTHER", idOf(i), ownership)];
  });
}
