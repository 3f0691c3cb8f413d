/**
 * How SQLite looks into columns: an FTS5 table `<table>_<column>` for each, which holds no text, only who has which token; it grows by appending,
 * where a table of (value, row) would touch a page for every value. It knows a row by an integer of its own, `row_id`, that VACUUM does not
 * renumber. The session that writes a row keeps it: FTS5 would write out all it has gathered before every statement that runs a trigger.
 *
 * - A set of texts has one token for each, and tokens for the row's uid, its parent and every uid above, so that what a scope holds is one search. A
 *   token is a letter for its kind and the bytes in hexadecimal, so that no tokenizer changes it.
 * - A search text has its trigrams. What has all trigrams of a longer text need not have that text: the row itself decides. For shorter ones the index
 *   is told more than the text: an end mark, so that every pair of characters begins a trigram, then each character between two marks.
 */
import { type Expression, type RawBuilder, sql } from "kysely";
import type { ContentType } from "../facet.ts";
import { slot } from "../statement.ts";
import { ancestorsOf, parentOf } from "../subtree.ts";
import type { Content, ContentColumn, Dialect, IndexKeeping, Lookup, PartsAsked } from "./dialect.ts";

const rowKey = "row_id";

/** The part of the dialect that looks into columns. */
export const sqliteContent: Pick<
  Dialect,
  "rowKey" | "holds" | "finds" | "found" | "knowsScope" | "partsOf" | "contentIndex" | "keepIndex"
> = {
  rowKey,
  holds,
  finds(lookup) {
    const { at, contents } = lookup;
    const row = sql.ref(`${at.alias}.${rowKey}`);
    return {
      // A join reads no further than the statement does; `in` would first gather all that the index gives.
      from: sql`(${found(lookup)}) as f cross join ${sql.table(at.table)} as ${sql.ref(at.alias)} on ${row} = f.rowid`,
      filters: contents.filter(({ operator }) => operator === "contains").map((content) => holds(at, content)),
    };
  },
  found,
  knowsScope: (type) => type === "texts",
  partsOf,
  contentIndex,
  keepIndex,
};

function indexOf({ table, column }: Pick<ContentColumn, "table" | "column">): RawBuilder<unknown> {
  return sql.table(`${table}_${column}`);
}

function holds({ alias, column }: ContentColumn, { operator, value }: Content): RawBuilder<boolean> {
  const held = sql.ref(`${alias}.${column}`);
  switch (operator) {
    case "has":
      return sql<boolean>`${value} in (select value from json_each(${held}))`;
    case "hasAny":
      return sql<boolean>`exists (select 1 from json_each(${held}) where value in (select value from json_each(${value})))`;
    case "hasNone":
      return sql<boolean>`not exists (select 1 from json_each(${held}) where value in (select value from json_each(${value})))`;
    case "contains":
    case "containsExact":
      return sql<boolean>`instr(${held}, ${value}) > 0`;
  }
}

function found({ at, contents, parts, parent, ranges }: Lookup): RawBuilder<unknown> {
  const index = indexOf(at);
  const asked = at.type === "search" ? searchQuery(at, parts) : setQuery(contents, parent, ranges);
  return sql`select rowid from ${index} where ${index} match ${asked}`;
}

/** The end mark of a text: the last character of all, which Unicode keeps for uses like this one. */
const mark = "\u{10ffff}";

/** Up to three characters that the index knows: FTS5 takes U+FFFE and U+FFFF for U+FFFD. */
const shortText = /^[^\ufffd-\uffff\u{10ffff}]{1,3}$/u;

/** More trigrams hardly find fewer rows. */
const maxTrigrams = 32;

/** A short text itself, or the trigrams of a longer one. */
function partsOf(text: string): PartsAsked {
  if (shortText.test(text)) return { parts: [text], areExact: true };
  const characters = [...text];
  const trigrams = characters.slice(2).map((_, i) => characters.slice(i, i + 3).join(""));
  return { parts: [...new Set(trigrams)].slice(0, maxTrigrams), areExact: false };
}

/**
 * Asks for every part, in FTS5's own language. One character is asked for between two marks, two are asked for as the start of any trigram
 * that there is: one by one those would be thousands.
 */
function searchQuery(at: ContentColumn, parts: Expression<unknown>): RawBuilder<unknown> {
  const [value, end] = [sql.ref("value"), sql.lit(mark)];
  const starting = sql`select group_concat(' OR ' || ${quoted(sql.ref("term"))}, '') from ${termsOf(at)} where term between ${value} and ${value} || ${end}`;
  return sql`(select group_concat(case length(${value})
    when 1 then ${quoted(sql`${end} || ${value} || ${end}`)}
    when 2 then '(' || ${quoted(sql`${value} || ${end}`)} || coalesce((${starting}), '') || ')'
    else ${quoted(value)} end, ' AND ') from json_each(${parts}))`;
}

function quoted(text: Expression<unknown>): RawBuilder<unknown> {
  return sql`'"' || replace(${text}, '"', '""') || '"'`;
}

/** The trigrams of an index. */
function termsOf({ table, column }: Pick<ContentColumn, "table" | "column">): RawBuilder<unknown> {
  return sql.table(`${table}_${column}_trigrams`);
}

/** Asks for the tokens of a set and of its scope. */
function setQuery(
  contents: readonly Content[],
  parent: Expression<unknown> | undefined,
  ranges: Expression<unknown> | undefined,
): RawBuilder<unknown> {
  const wanted = contents.filter(({ operator }) => operator !== "hasNone").map(membersQuery);
  const unwanted = contents.filter(({ operator }) => operator === "hasNone").map(membersQuery);
  if (parent !== undefined) wanted.push(token("p", parent));
  if (ranges !== undefined) wanted.push(rangesQuery(ranges));
  if (wanted.length === 0) wanted.push(sql`'a'`); // every row is below ""
  return sql.join([sql.join(wanted, sql` || ' AND ' || `), ...unwanted], sql` || ' NOT ' || `);
}

function membersQuery({ operator, value }: Content): RawBuilder<unknown> {
  if (operator === "has") return token("x", value);
  // No row has the token that stands for none at all.
  return sql`(select '(' || coalesce(group_concat(${token("x", sql.ref("value"))}, ' OR '), 'none') || ')' from json_each(${value}))`;
}

/** A range of keys is what is below the uid that its end is behind, and that uid itself unless it starts at the slash. */
function rangesQuery(ranges: Expression<unknown>): RawBuilder<unknown> {
  const root = sql`substr(value ->> 1, 1, length(value ->> 1) - 1)`;
  const self = sql`iif(value ->> 0 like '%/', '', ' OR ' || ${token("u", root)})`;
  return sql`(select '(' || group_concat(${token("a", root)} || ${self}, ' OR ') || ')' from json_each(${ranges}))`;
}

/** A token of one of the four kinds: `x` for a text, `u` for the uid, `p` for the parent, `a` for each uid above. */
function token(kind: "x" | "u" | "p" | "a", text: Expression<unknown>): RawBuilder<unknown> {
  return sql`${sql.lit(kind)} || hex(${text})`;
}

function contentIndex(table: string, column: string, type: ContentType): RawBuilder<unknown>[] {
  const index = indexOf({ table, column });
  const tokenizer = sql.lit(type === "texts" ? "ascii" : "trigram case_sensitive 1");
  const create = sql`create virtual table ${index} using fts5(${sql.ref(column)}, content = '', tokenize = ${tokenizer}, detail = none, columnsize = 0)`;
  if (type === "texts") return [create];
  return [create, sql`create virtual table ${termsOf({ table, column })} using fts5vocab(${index}, 'row')`];
}

/** FTS5 forgets a row when it is told what it had been told of it. */
function keepIndex(table: string, column: string, type: ContentType): IndexKeeping {
  const [index, held, key] = [indexOf({ table, column }), sql.ref(column), sql.ref(rowKey)];
  const row = sql`(select ${key} from ${sql.table(table)} where uid = ${slot("uid")})`;
  return {
    add: sql`insert into ${index} (rowid, ${held}) values (${row}, ${slot("told")})`,
    drop: sql`insert into ${index} (${index}, rowid, ${held}) values ('delete', ${row}, ${slot("told")})`,
    told: (uid, value) => (type === "texts" ? tokensOf(uid, value as readonly string[]) : marked(value as string)),
  };
}

function tokensOf(uid: string, texts: readonly string[]): string {
  const above = ancestorsOf(uid).map((ancestor) => `a${hex(ancestor)}`);
  return [`u${hex(uid)}`, `p${hex(parentOf(uid))}`, ...above, ...texts.map((text) => `x${hex(text)}`)].join(" ");
}

/** A text and its characters, each with a mark behind it. */
function marked(text: string): string {
  return [text, ...[...new Set(text)].sort(), ""].join(mark);
}

function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}
