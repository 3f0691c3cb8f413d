/** Ranges of versions in the notation of vers (`vers:npm/>=4.0.0|<4.17.21`), for people and other programs to read. */
import type { AffectedRange, RangeEvent } from "../../matching/index.ts";
import { comparePackageVersions } from "../../versions/index.ts";

/** A bound of a range, with its comparator. */
interface Bound {
  readonly version: string;
  /** "" for the start of all versions. */
  readonly comparator: ">=" | "<" | "<=" | "";
}

/** The value of `limit` for none. */
const noLimit = "*";

/** The affected versions of a range; undefined if it says of none that it is affected. @param type of package URLs. */
export function versOf(type: string, { events }: Pick<AffectedRange, "events">): string | undefined {
  const bounds: Bound[] = [];
  let isOpen = false;
  const limiting = events.filter((event) => !("limit" in event && event.limit === noLimit));
  for (const bound of limiting.map(boundOf).sort((a, b) => compare(type, a, b))) {
    const opens = bound.comparator === ">=" || bound.comparator === "";
    if (opens === isOpen) continue;
    isOpen = opens;
    bounds.push(bound);
  }
  if (bounds.length === 0) return undefined;
  const written = bounds.filter(({ comparator }) => comparator !== "");
  const text = written.map(({ comparator, version }) => `${comparator}${encode(version)}`).join("|");
  return `vers:${type}/${text === "" ? "*" : text}`;
}

/** The first versions with a fix in ranges, without duplicates. */
export function fixesOf(ranges: readonly AffectedRange[]): string[] {
  const fixes = ranges.flatMap(({ events }) => events.flatMap((event) => ("fixed" in event ? [event.fixed] : [])));
  return [...new Set(fixes)];
}

function boundOf(event: RangeEvent): Bound {
  if ("introduced" in event)
    return event.introduced === "0" ? { version: "", comparator: "" } : { version: event.introduced, comparator: ">=" };
  if ("fixed" in event) return { version: event.fixed, comparator: "<" };
  if ("limit" in event) return { version: event.limit, comparator: "<" };
  return { version: event.last_affected, comparator: "<=" };
}

/** The start comes first. Bounds whose versions cannot be compared keep their order. */
function compare(type: string, a: Bound, b: Bound): number {
  if (a.comparator === "" || b.comparator === "") return Number(b.comparator === "") - Number(a.comparator === "");
  return comparePackageVersions(type, a.version, b.version) || rankOf(a) - rankOf(b);
}

/** Of bounds at one version: what ends before it, what begins with it, what ends with it. */
function rankOf({ comparator }: Bound): number {
  return ["<", ">=", "<="].indexOf(comparator);
}

function encode(version: string): string {
  return encodeURIComponent(version).replaceAll("%3A", ":").replaceAll("!", "%21").replaceAll("*", "%2A");
}
