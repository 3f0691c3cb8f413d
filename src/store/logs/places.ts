/**
 * Places: where in the hierarchy the entries of a log belong, as expressions over its columns. An entry is about one
 * uid. One of an identity that called outside of its group also belongs to that identity.
 *
 * An index has the first segments of the uid, of one level, and then the order of the log. So the entries at a uid or
 * below it are one range, newest or oldest first, and no entry has further columns or rows for it.
 */
import { type RawBuilder, sql } from "kysely";
import type { Dialect } from "../sql/dialect.ts";

/** The columns of a log that say where its entries belong. */
export interface PlaceColumns {
  /** The uid that the entry is about, or "". */
  readonly scope: string;
  /** A uid, "" or another text. If it is below the scope, or there is no scope, the entry is about it. */
  readonly resource: string;
  /** The uid of an identity, or another text. */
  readonly caller: string;
}

/** A place, and how many levels of uids it has indexes for. Entries of deeper uids are found by their ancestor. */
interface Place {
  readonly name: string;
  readonly levels: number;
  readonly uid: RawBuilder<string>;
}

const rootLength = 40;
const segmentLength = 17;

/** The time of an entry as the indexes have it: the planner can use these only, whatever its statistics say. */
export const placeTime = sql`(time_us + 0)`;

/** The places of an entry; a text is not a uid where the entry has none. */
function placesOf(columns: PlaceColumns): readonly Place[] {
  const [scope, resource, caller] = [sql.ref(columns.scope), sql.ref(columns.resource), sql.ref(columns.caller)];
  const about = sql<string>`case when ${scope} = '' or substr(${resource}, 1, length(${scope}) + 1) = ${scope} || '/'
    then ${resource} else ${scope} end`;
  const group = sql`substr(${caller}, 1, length(${caller}) - ${sql.lit(segmentLength)})`;
  const isInGroup = sql`substr(${about} || '/', 1, length(${caller}) - ${sql.lit(segmentLength - 1)}) = ${group} || '/'`;
  const outside = sql<string>`case when length(${caller}) > ${sql.lit(rootLength)} and not (${isInGroup})
    then ${caller} else '' end`;
  return [
    { name: "about", levels: 4, uid: about },
    { name: "outside", levels: 2, uid: outside },
  ];
}

/** How many levels a uid has above its own: 0 for a root. */
export function levelOf(uid: string): number {
  return Math.max(0, Math.floor((uid.length - rootLength) / segmentLength));
}

/** The first segments of a uid that an index of a place has. */
function prefix({ uid, levels }: Place, level: number): { text: RawBuilder<string>; exists: RawBuilder<boolean> } {
  const length = sql.lit(rootLength + segmentLength * Math.min(level, levels - 1));
  return {
    text: sql<string>`substr(${uid}, 1, ${length})`,
    exists: sql<boolean>`length(${uid}) >= ${length}`,
  };
}

/**
 * For each place, the condition that an entry may belong at a uid of this level or below it, as far as the indexes
 * tell. `start`: makes a parameter of the first segments of the uid, of this many characters.
 */
export function conditionsAt(
  columns: PlaceColumns,
  level: number,
  start: (length: number) => RawBuilder<unknown>,
): readonly RawBuilder<boolean>[] {
  return placesOf(columns).map((place) => {
    const { text, exists } = prefix(place, level);
    const length = rootLength + segmentLength * Math.min(level, place.levels - 1);
    return sql<boolean>`${text} = ${start(length)} and ${exists}`;
  });
}

/** The indexes of a log with these columns. Those of a migration that is released stay as they are. */
export function placeIndexes({ query }: Dialect, table: string, columns: PlaceColumns) {
  return placesOf(columns).flatMap((place) =>
    Array.from({ length: place.levels }, (_, level) => {
      const { text, exists } = prefix(place, level);
      return query.schema
        .createIndex(`${table}_${place.name}_${level}`)
        .on(table)
        .expression(sql`${text}, ${placeTime}, id`)
        .where(exists);
    }),
  );
}
