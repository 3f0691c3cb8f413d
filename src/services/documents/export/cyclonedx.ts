/**
 * CycloneDX 1.6 of what is known about an image. What the format has no field for is in properties of Trivy, which
 * scanners of documents read, too.
 */
import type { ImagePackage, UnmatchedPackage } from "../../registry/image-packages.ts";
import { type ImageFacts, type ImagePart, imagePurl, isExpression, purlOf } from "./image-facts.ts";
import { contentUuid, documentText } from "./json-document.ts";

/** The property with the package URL of the package that owns the files of another. */
const ownerProperty = "platform:package:owner";

/** Packages that are written before other calls may have their turn. */
const portion = 500;

/** The document. @param pause lets other calls have their turn. */
export async function toCycloneDx(facts: ImageFacts, pause: () => Promise<void> | undefined): Promise<string> {
  const { name, digest, parts } = facts;
  const components: string[] = [];
  const dependencies: string[] = [];
  const platforms = parts.filter((part) => part.platform !== "");
  for (const part of platforms) components.push(JSON.stringify(platformComponent(facts, part)));
  for (const part of parts) {
    const { packages, unmatched = [] } = part.list;
    for (const [i, each] of packages.entries()) {
      if (i % portion === 0) await pause();
      components.push(JSON.stringify(component(each, refOf(part, i))));
    }
    const left = unmatched.filter(({ version }) => version === "");
    for (const [i, each] of left.entries())
      components.push(JSON.stringify(unmatchedComponent(each, refOf(part, packages.length + i))));
    const refs = Array.from({ length: packages.length + left.length }, (_, i) => refOf(part, i));
    const contained = part.platform === "" ? [...platforms.map((each) => each.digest), ...refs] : refs;
    dependencies.push(JSON.stringify({ ref: part.digest, dependsOn: contained }));
    dependencies.push(...packageDependencies(part));
  }
  if (parts[0]?.platform !== "")
    dependencies.unshift(JSON.stringify({ ref: digest, dependsOn: platforms.map((part) => part.digest) }));
  const root = { "bom-ref": digest, type: "container", name, version: digest, purl: imagePurl(facts) };
  const metadata = { tools: { components: [{ type: "application", name: "platform-api" }] }, component: root };
  const uuid = contentUuid([JSON.stringify(metadata), ...components, ...dependencies]);
  return documentText([
    ["$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json"],
    ["bomFormat", "CycloneDX"],
    ["specVersion", "1.6"],
    ["serialNumber", `urn:uuid:${uuid}`],
    ["version", 1],
    ["metadata", metadata],
    ["components", undefined, components],
    ["dependencies", undefined, dependencies],
  ]);
}

function refOf({ digest }: ImagePart, index: number): string {
  return `${digest}/${index + 1}`;
}

function platformComponent({ name }: ImageFacts, { digest, platform }: ImagePart) {
  const properties = [{ name: "platform:image:platform", value: platform }];
  return {
    "bom-ref": digest,
    type: "container",
    name,
    version: digest,
    purl: imagePurl({ name, digest }),
    properties,
  };
}

function component(each: ImagePackage, ref: string) {
  const { name, version, licenses = [], locations = [], layer = "", owner = "", origin, originVersion } = each;
  const properties = [
    [ownerProperty, owner],
    ["aquasecurity:trivy:LayerDigest", layer],
    ["aquasecurity:trivy:SrcName", origin],
    ["aquasecurity:trivy:SrcVersion", originVersion],
    ["syft:metadata:architecture", each.architecture],
  ].flatMap(([property, value]) => (value === "" ? [] : [{ name: property, value }]));
  const purl = purlOf(each);
  return {
    "bom-ref": ref,
    type: "library",
    name,
    version,
    ...(licenses.length > 0 && { licenses: licenseChoices(licenses) }),
    ...(purl !== undefined && { purl }),
    ...(properties.length > 0 && { properties }),
    ...(locations.length > 0 && { evidence: { occurrences: locations.map((location) => ({ location })) } }),
  };
}

function unmatchedComponent({ name, purl }: UnmatchedPackage, ref: string) {
  return { "bom-ref": ref, type: "library", name, ...(purl !== undefined && { purl }) };
}

/** The format allows one expression, or any number of names. */
function licenseChoices(licenses: readonly string[]) {
  const [first = ""] = licenses;
  if (licenses.length === 1 && isExpression(first)) return [{ expression: first }];
  return licenses.map((name) => ({ license: { name } }));
}

function packageDependencies(part: ImagePart): string[] {
  const byDependent = new Map<number, string[]>();
  for (const [dependent, dependency] of part.list.dependencies ?? []) {
    const all = byDependent.get(dependent) ?? [];
    byDependent.set(dependent, all);
    all.push(refOf(part, dependency));
  }
  return [...byDependent].map(([dependent, dependsOn]) => JSON.stringify({ ref: refOf(part, dependent), dependsOn }));
}
