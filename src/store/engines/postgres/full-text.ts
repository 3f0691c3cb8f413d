/**
 * Content indexes on PostgreSQL: for a set of texts a GIN index of its elements, for a search text a GIN index of its
 * trigrams (pg_trgm). A GIN index is read by a bitmap scan, which the session settings disable, as they do sequential
 * scans. The planner chooses it nevertheless where a statement has no condition that another index serves: the only
 * alternative, the sequential scan, is disabled as well.
 */
import { type Expression, type RawBuilder, sql } from "kysely";
import type { Content, ContentColumn, ContentDialect, Found, Lookup } from "../../sql/dialect.ts";

/** The dialect's part for content columns. An expression over a column has the column's value and no index. */
export const postgresContent: ContentDialect = {
  rowKey: undefined,
  holds: (at, content) => {
    const held = columnOf(at);
    return content.operator === "contains"
      ? sql<boolean>`strpos(${held}, ${content.value}) > 0`
      : isMember(sql`(${held} || '')`, content);
  },
  finds,
  found(lookup) {
    const { from, filters } = finds(lookup);
    return sql`select 1 from ${from} where ${sql.join(filters, sql` and `)}`;
  },
  knowsScope: () => false,
  // pg_trgm extracts the trigrams of the text itself.
  partsOf: (text) => ({ parts: [...text].length < 3 ? [] : [text], areExact: false }),
  indexMaintenance: () => undefined,
  contentIndex(table, column, type) {
    const create = sql`create index ${sql.ref(`${table}_${column}`)} on ${sql.table(table)}`;
    if (type === "texts") return [sql`${create} using gin ((${sql.ref(column)}::jsonb))`];
    return [sql`create extension if not exists pg_trgm`, sql`${create} using gin (${sql.ref(column)} gin_trgm_ops)`];
  },
};

function columnOf({ alias, column }: ContentColumn): RawBuilder<unknown> {
  return sql.ref(`${alias}.${column}`);
}

function finds({ at, contents }: Lookup): Found {
  const held = columnOf(at);
  return {
    from: sql`${sql.table(at.table)} as ${sql.ref(at.alias)}`,
    filters: contents.map((content) =>
      content.operator === "contains" ? isLike(held, content) : isMember(held, content),
    ),
  };
}

function isLike(held: Expression<unknown>, { value }: Content): RawBuilder<boolean> {
  const literal = sql`replace(replace(replace(${value}, '\\', '\\\\'), '%', '\\%'), '_', '\\_')`;
  return sql<boolean>`${held} like '%' || ${literal} || '%'`;
}

function isMember(set: Expression<unknown>, { operator, value }: Content): RawBuilder<boolean> {
  if (operator === "has") return sql<boolean>`${set}::jsonb ? ${value}`;
  const hasAny = sql<boolean>`${set}::jsonb ?| array(select json_array_elements_text(${value}::json))`;
  return operator === "hasNone" ? sql<boolean>`not ${hasAny}` : hasAny;
}
