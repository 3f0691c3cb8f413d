/**
 * The order of .NET versions (`NuGetVersion`): `MAJOR[.MINOR[.PATCH[.REVISION]]][-LABELS][+METADATA]`.
 *
 * Missing numbers are 0. A version with labels is before the one without. Labels compare one by one without case:
 * numbers before words, a longer list after its prefix. A label counts as a number if it fits 32 bits. Metadata does
 * not count.
 */
import { compareDigits, compareLists, compareTexts } from "./parts.ts";

const grammar =
  /^(\d+(?:\.\d+){0,3})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;
const maxNumber = 2 ** 31 - 1;

/** Negative if `a` is before `b`, 0 if they are equal, positive if it is after; undefined if one is not a version. */
export function compareNuGetVersions(a: string, b: string): number | undefined {
  const [x, y] = [parse(a), parse(b)];
  if (x === undefined || y === undefined) return undefined;
  const order = compareLists(x.numbers, y.numbers, compareDigits);
  if (order !== 0 || x.labels === undefined || y.labels === undefined)
    return order || Number(x.labels === undefined) - Number(y.labels === undefined);
  return compareLists(x.labels, y.labels, compareLabels);
}

function parse(version: string) {
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
