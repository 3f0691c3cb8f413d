/**
 * The order of .NET versions (`NuGetVersion`): `MAJOR[.MINOR[.PATCH[.REVISION]]][-LABELS][+METADATA]`.
 *
 * Missing numbers are 0. A version with labels is before the one without. Labels compare one by one without case:
 * numbers before words, a longer list after its prefix. A label counts as a number if it fits 32 bits. Metadata does
 * not count.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareLists, compareTexts } from "./parts.ts";

const grammar =
  /^(\d+(?:\.\d+){0,3})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;
const maxNumber = 2 ** 31 - 1;

interface Version {
  /** Four. */
  readonly numbers: readonly string[];
  readonly labels: readonly string[] | undefined;
}

/** The order of NuGet. */
export const nuGetOrdering: Ordering<Version> = { parse, compare };

function compare(x: Version, y: Version): number {
  const order = compareLists(x.numbers, y.numbers, compareDigits);
  if (order !== 0 || x.labels === undefined || y.labels === undefined)
    return order || Number(x.labels === undefined) - Number(y.labels === undefined);
  return compareLists(x.labels, y.labels, compareLabels);
}

function parse(version: string): Version | undefined {
  const [, release, labels] = grammar.exec(version.trim()) ?? [];
  if (release === undefined) return undefined;
  const numbers = [...release.split("."), "0", "0", "0"].slice(0, 4);
  return { numbers, labels: labels?.toUpperCase().split(".") };
}

function compareLabels(x: string, y: string): number {
  const [isNumber, isOtherNumber] = [isNumeric(x), isNumeric(y)];
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return isNumber ? Number(x) - Number(y) : compareTexts(x, y);
}

function isNumeric(label: string): boolean {
  return /^-?\d+$/.test(label) && Math.abs(Number(label)) <= maxNumber;
}
