/** The relations of SPDX: dependencies, files by which packages were found, and owners of files. */
import type { Fields } from "../../records/fields.ts";
import type { ReadNotes } from "../../records/read-each.ts";
import { maxDetailLength, maxLicenseLength, maxRelations, readDetail } from "./details.ts";
import type { PackageList } from "./packages.ts";

/** What syft writes about a package that owns the files of another, and about a file by which a package was found. */
const ownership = /^ownership-by-file-overlap\b/;
const evidence = /^evident-by\b/;

/** What syft writes about the layer of a file. */
const layerOfFile = /^layerID: (\S+)$/;

/** A relation between elements. */
interface Relation {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly comment: string;
}

/** A file of a document. */
interface File {
  readonly path: string;
  readonly layer: string | undefined;
}

/** What is known of a document of SPDX 2 before its relations are read. */
interface ReadPackages {
  readonly packages: PackageList;
  /** The paths of files that list packages, by the ids that the document has for them. */
  readonly files: ReadonlyMap<string, string>;
  /** Packages and the files that they name themselves, by their ids. */
  readonly contained: readonly (readonly [packageId: string, fileId: string])[];
  readonly notes: ReadNotes;
}

/** Reads the relations of SPDX 2. */
export function readRelations(document: Fields, { packages, files, contained, notes }: ReadPackages): void {
  const member = "relationships[]";
  const all = readDetail(member, notes, () => document.objects("relationships", maxRelations)) ?? [];
  const relations = all.flatMap((each): Relation[] => {
    const [from, to, type, comment] =
      readDetail(member, notes, () => [
        each.optionalText("spdxElementId", maxDetailLength),
        each.optionalText("relatedSpdxElement", maxDetailLength),
        each.optionalText("relationshipType"),
        each.optionalText("comment", maxDetailLength),
      ]) ?? [];
    return from === undefined || to === undefined ? [] : [{ from, to, type: type ?? "", comment: comment ?? "" }];
  });
  for (const [from, to] of contained) relations.push({ from, to, type: "CONTAINS", comment: "" });
  relate(relations, packages, files, filesOf(document, notes));
}

function filesOf(document: Fields, notes: ReadNotes): ReadonlyMap<string, File> {
  const member = "files[]";
  const files = readDetail(member, notes, () => document.objects("files", maxRelations)) ?? [];
  const named = files.flatMap((file): [string, File][] => {
    const [id, path, comment = ""] =
      readDetail(member, notes, () => [
        file.optionalText("SPDXID", maxDetailLength),
        file.optionalText("fileName", maxDetailLength),
        file.optionalText("comment", maxDetailLength),
      ]) ?? [];
    return id && path ? [[id, { path, layer: layerOfFile.exec(comment)?.[1] }]] : [];
  });
  return new Map(named);
}

/** Adds what relations say of packages. The types are those of SPDX 2 and, in their own letters, of SPDX 3. */
function relate(
  relations: readonly Relation[],
  packages: PackageList,
  listing: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, File>,
): void {
  for (const { from, to, type, comment } of relations) {
    const file = files.get(to);
    if (type === "DEPENDS_ON" || type === "dependsOn") packages.addDependency(from, to);
    else if (type.endsWith("DEPENDENCY_OF")) packages.addDependency(to, from);
    else if (ownership.test(comment)) packages.addOwner(from, to);
    else if (file !== undefined && (evidence.test(comment) || /^contains$/i.test(type)))
      packages.addPlace(from, file.path, file.layer, !evidence.test(comment));
    if (listing.has(from) && packages.has(to)) packages.addPlace(to, listing.get(from), undefined);
  }
}

/** The elements of SPDX 3 that are not packages, and what they say of packages. */
export interface SpdxGraph {
  /** The paths of files that list packages, by their ids. */
  readonly files: Map<string, string>;
  licensesOf(id: string | undefined): readonly string[];
  /** Adds what the relations say, once all packages are in the list. */
  relate(packages: PackageList): void;
}

/** Reads the relations, files and licences of the elements of SPDX 3. */
export function readGraph(elements: readonly Fields[], notes: ReadNotes): SpdxGraph {
  const member = "@graph[]";
  const relations: Relation[] = [];
  const files = new Map<string, File>();
  const expressions = new Map<string, string>();
  const readElement = (element: Fields) => {
    const type = element.isText("type") ? element.text("type") : "";
    const id = element.optionalText("spdxId", maxDetailLength) ?? "";
    if (type === "Relationship") {
      const from = element.text("from", maxDetailLength);
      const named = { from, type: element.text("relationshipType"), comment: element.optionalText("comment") ?? "" };
      const targets = element.texts("to", { maxItems: maxRelations, maxLength: maxDetailLength });
      for (const to of targets) relations.push({ ...named, to });
    } else if (type === "software_File") {
      files.set(id, { path: element.text("name", maxDetailLength), layer: undefined });
    } else if (type === "simplelicensing_LicenseExpression") {
      expressions.set(id, element.text("simplelicensing_licenseExpression", maxLicenseLength));
    }
  };
  for (const element of elements) readDetail(member, notes, () => readElement(element));
  const licenses = new Map<string, string[]>();
  for (const { from, to, type } of relations) {
    const expression = expressions.get(to);
    if (expression === undefined || !/^has(Declared|Concluded)License$/.test(type)) continue;
    const all = licenses.get(from) ?? [];
    licenses.set(from, all);
    all.push(expression);
  }
  const listing = new Map<string, string>();
  return {
    files: listing,
    licensesOf: (id = "") => licenses.get(id) ?? [],
    relate: (packages) => relate(relations, packages, listing, files),
  };
}
