/**
 * The order of Conan 2 versions: `ITEM(.ITEM)*[-PRE-RELEASE][+BUILD]`.
 *
 * Items that are numbers compare as numbers, others as texts. Zeros at the end do not count. A pre-release is before
 * its release, and a version without build metadata before one with it; both compare as versions.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareLists, compareTexts, isDigits } from "./parts.ts";

type Version = ReturnType<typeof parse>;

/** The order of Conan. Any text is a version. */
export const conanOrdering: Ordering<Version> = { parse, compare };

function compare(x: Version, y: Version): number {
  return (
    compareLists(x.items, y.items, compareItems) ||
    (x.preRelease === undefined || y.preRelease === undefined
      ? Number(x.preRelease === undefined) - Number(y.preRelease === undefined)
      : compareLists(x.preRelease, y.preRelease, compareItems)) ||
    (x.build === undefined || y.build === undefined
      ? Number(y.build === undefined) - Number(x.build === undefined)
      : compareLists(x.build, y.build, compareItems))
  );
}

function parse(version: string) {
  const plus = version.lastIndexOf("+");
  const [rest, build] = plus < 0 ? [version] : [version.slice(0, plus), version.slice(plus + 1)];
  const dash = rest.indexOf("-");
  const [items, preRelease] = dash < 0 ? [rest] : [rest.slice(0, dash), rest.slice(dash + 1)];
  return {
    items: itemsOf(items),
    preRelease: preRelease === undefined ? undefined : itemsOf(preRelease),
    build: build === undefined ? undefined : itemsOf(build),
  };
}

function itemsOf(text: string): string[] {
  const items = text.split(".").map((item) => (isDigits(item) ? item.replace(/^0+(?=.)/, "") : item));
  return items.slice(0, items.findLastIndex((item) => item !== "0") + 1);
}

function compareItems(x: string, y: string): number {
  return isDigits(x) && isDigits(y) ? compareDigits(x, y) : compareTexts(x, y);
}
