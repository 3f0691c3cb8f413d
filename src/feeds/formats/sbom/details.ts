/** What bills of materials say beside names and versions. A detail that cannot be read is left out alone. */
import type { Fields } from "../../records/fields.ts";
import type { ReadNotes } from "../../records/read-each.ts";
import { FeedRefusal } from "../../source/refusal.ts";

/** Longest text of an id, a path or a digest in UTF-16 units. */
export const maxDetailLength = 4096;

/** Longest licence in UTF-16 units: names that tools make of whole texts are longer. */
export const maxLicenseLength = 1024;

/** Most relations, or files, of a document. */
export const maxRelations = 1_000_000;

/** Items of one package. */
const maxItems = 10_000;

/** Values that say that nothing is said. */
const noValues = new Set(["", "NOASSERTION", "NONE"]);

/** Reads a detail. One that cannot be read has no value and is reported as not read. @param member as in notes. */
export function readDetail<T>(member: string, { unread }: Pick<ReadNotes, "unread">, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof FeedRefusal)) throw error;
    unread(member);
    return undefined;
  }
}

/** The licences of a CycloneDX component: SPDX ids and expressions, else names. */
export function licensesOf(component: Fields, notes: ReadNotes): string[] {
  const member = "components[].licenses[]";
  return (readDetail(member, notes, () => component.objects("licenses", maxItems)) ?? []).flatMap((choice) => {
    const license = readDetail(member, notes, () => {
      const named = choice.optionalObject("license");
      const id = named?.optionalText("id", maxLicenseLength) || named?.optionalText("name", maxLicenseLength);
      return choice.optionalText("expression", maxLicenseLength) || id;
    });
    return license === undefined || noValues.has(license) ? [] : [license];
  });
}

/** The licences that fields of an SPDX package name. @param names of licences that the document itself defines. */
export function licenseFields(
  item: Fields,
  fields: readonly string[],
  names: ReadonlyMap<string, string>,
  notes: ReadNotes,
): string[] {
  return fields.flatMap((field) => {
    const license = readDetail(`packages[].${field}`, notes, () => item.optionalText(field, maxLicenseLength));
    return license === undefined || noValues.has(license) ? [] : [names.get(license) ?? license];
  });
}

/** The paths of files by which a CycloneDX component was found. */
export function occurrencesOf(component: Fields, notes: ReadNotes): string[] {
  const member = "components[].evidence.occurrences[]";
  const occurrences = readDetail(
    member,
    notes,
    () => component.optionalObject("evidence")?.objects("occurrences", maxItems) ?? [],
  );
  return (occurrences ?? []).flatMap(
    (each) => readDetail(member, notes, () => each.optionalText("location", maxDetailLength)) || [],
  );
}
