/** What records of feeds say about packages, as it is stored: one row for each record and package key. */
import { AffectedPackage, type PackageFact } from "../../matching/index.ts";
import type { ReadSession, Row } from "../../store/index.ts";
import { affectedPackages } from "./tables.ts";

/** What a record says about one package. */
export interface Affected extends PackageFact {
  /** The uid of its row. */
  readonly uid: string;
  readonly feed: string;
  /** The id of the record in the feed: `GHSA-35jh-r3h4-6jhm`. */
  readonly id: string;
  /** The uid of the vulnerability, an alias group of the record. */
  readonly vulnerability: string;
  /** When the record was changed by its publisher, in milliseconds since 1970. */
  readonly modifyMs?: number | undefined;
  /** Since when the record is known to say this about the package, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** What it said before without a break, the latest first. */
  readonly earlier: readonly Earlier[];
}

/** What a record says about a package, read once to be compared with many components. */
export interface ComparableAffected extends Affected {
  readonly versions: AffectedPackage;
}

export function comparable(affected: Affected): ComparableAffected {
  return { ...affected, versions: new AffectedPackage(affected.facts) };
}

/** What a record said about a package, from a time on. */
type Earlier = Pick<Affected, "sinceMs" | "kind" | "facts" | "events" | "subcomponent">;

/**
 * How much of what a record said before is kept, in characters of JSON: enough for years, where it has ranges. Where
 * more has changed, it counts as said since the oldest change that is kept.
 */
const maxEarlier = 16_384;

/** The columns and the body of a row. */
export function affectedContent({ feed, vulnerability, key, ...rest }: Omit<Affected, "uid">) {
  return { columns: { feed, vulnerability, package_key: key }, body: Buffer.from(JSON.stringify(rest)) };
}

/** What a row says. */
export function affectedOf({ uid, columns, body, createTimeUs }: Row): Affected {
  const { feed, vulnerability, package_key: key } = columns as Readonly<Record<string, string>>;
  const said: Pick<Affected, "id" | "kind" | "facts"> = JSON.parse(Buffer.from(body).toString());
  const sinceMs = createTimeUs / 1000;
  return { uid, feed: feed!, vulnerability: vulnerability!, key: key!, sinceMs, earlier: [], ...said };
}

/** Since when a row says what it is about to say, and what it said before. @param before undefined for a new row. */
export function timesOf(
  said: PackageFact,
  before: Affected | undefined,
  nowMs: number,
): Pick<Affected, "sinceMs" | "earlier"> {
  if (before === undefined) return { sinceMs: nowMs, earlier: [] };
  const { sinceMs, earlier } = before;
  if (textOf(said) === textOf(before)) return { sinceMs, earlier };
  const { kind, facts, events, subcomponent } = before;
  let characters = 0;
  const all = [{ sinceMs, kind, facts, events, subcomponent }, ...earlier];
  const end = all.findIndex((each) => {
    characters += JSON.stringify(each).length;
    return characters > maxEarlier;
  });
  return { sinceMs: nowMs, earlier: end < 0 ? all : all.slice(0, end) };
}

function textOf({ kind, facts, events, subcomponent }: PackageFact): string {
  return JSON.stringify([kind, facts, events, subcomponent]);
}

/** The rows that are read at once. */
const portion = 1000;

/** What all records say about these packages, by package key. */
export async function affectedByKey(
  session: ReadSession,
  keys: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly ComparableAffected[]>> {
  const found = new Map<string, ComparableAffected[]>([...keys].map((key) => [key, []]));
  const where = [{ column: "package_key", in: [...keys] }];
  const orderBy = [{ column: "package_key", descending: false }];
  if (found.size === 0) return found;
  for await (const rows of session.pages(affectedPackages, { where, orderBy, limit: portion }))
    for (const row of rows) found.get(row.columns.package_key as string)!.push(comparable(affectedOf(row)));
  return found;
}
