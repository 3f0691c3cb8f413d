/**
 * How PostgreSQL looks into columns: a set of texts through a GIN index of its elements, a search text through one of its trigrams (pg_trgm). Of the
 * scans that our settings leave on, none reads a GIN index; but where a statement compares no other column in a way that an index serves, only that
 * index and the whole table are left to choose from.
 */
import { type Expression, type RawBuilder, sql } from "kysely";
import type { Content, ContentColumn, Dialect, Found, Lookup } from "./dialect.ts";

/** The part of the dialect that looks into columns. An expression over a column keeps its value and has no index. */
export const postgresContent: Pick<
  Dialect,
  "rowKey" | "holds" | "finds" | "found" | "knowsScope" | "partsOf" | "contentIndex" | "keepIndex"
> = {
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
  // pg_trgm takes the text apart itself.
  partsOf: (text) => ({ parts: [...text].length < 3 ? [] : [text], areExact: false }),
  keepIndex: () => undefined,
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
