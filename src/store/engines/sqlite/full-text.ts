/**
 * Content indexes on SQLite: for each content column an FTS5 table `<table>_<column>`, which is contentless: it has
 * only the tokens of rows. It grows by appending, where a table of (value, row) would write a page for every value. It
 * refers to a row by an integer column, `row_id`, that VACUUM does not renumber. Sessions maintain it, not triggers:
 * FTS5 would flush its pending data before every statement that runs a trigger.
 *
 * - The document of a set of texts has one token for each text, and tokens for the row's uid, its parent and every uid
 *   above, so that a search can include the scope. A token is a letter for its kind and the bytes in hexadecimal, so
 *   that no tokenizer changes it.
 * - A search text is indexed by its trigrams. A row with all trigrams of a text need not contain the text, so the row
 *   is checked, too. For texts of one and two characters, the document has more than the text: an end mark, so that
 *   every pair of characters starts a trigram, then each character between two marks. Where most rows have the
 *   trigrams, an index that has the texts themselves is read instead, which costs a seventh of reading the rows.
 */
import { type Expression, type RawBuilder, sql } from "kysely";
import { parentOf } from "../../../uid.ts";
import type {
  Content,
  ContentColumn,
  ContentDialect,
  ContentIndexing,
  Dialect,
  IndexMaintenance,
  Lookup,
  SearchParts,
} from "../../sql/dialect.ts";
import type { ContentType } from "../../sql/indexed-column.ts";
import { compile, type SqlConnection, slot } from "../../sql/statement.ts";
import { ancestorsWithRoot } from "../../sql/subtree.ts";

const rowKey = "row_id";

/** The dialect's part for content columns. */
export const sqliteContent: ContentDialect = {
  rowKey,
  holds,
  finds(lookup) {
    const { at, contents } = lookup;
    const row = sql.ref(`${at.alias}.${rowKey}`);
    return {
      // A join stops when the statement does; `in` would first read all that the index finds.
      from: sql`(${found(lookup)}) as f cross join ${sql.table(at.table)} as ${sql.ref(at.alias)} on ${row} = f.rowid`,
      filters: contents.filter(({ operator }) => operator === "contains").map((content) => holds(at, content)),
    };
  },
  found,
  knowsScope: (type) => type === "texts",
  textScans: {
    from: ({ table, alias, column }) =>
      sql`${sql.table(table)} as ${sql.ref(alias)} indexed by ${sql.ref(scanName(table, column))}`,
    create: (table, column) =>
      sql`create index ${sql.ref(scanName(table, column))} on ${sql.table(table)} (uid, parent, ${sql.ref(column)})`,
  },
  partsOf,
  contentIndex,
  indexMaintenance,
  maintainedIndexes,
};

function indexOf({ table, column }: Pick<ContentColumn, "table" | "column">): RawBuilder<unknown> {
  return sql.table(`${table}_${column}`);
}

function scanName(table: string, column: string): string {
  return `${table}_uid_parent_${column}`;
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
  const query = at.type === "search" ? searchQuery(at, parts) : setQuery(contents, parent, ranges);
  return sql`select rowid from ${index} where ${index} match ${query}`;
}

/** The end mark of a text: the last code point, a Unicode noncharacter. */
const mark = "\u{10ffff}";

/** One to three characters that the index can find: FTS5 replaces U+FFFE and U+FFFF by U+FFFD. */
const shortText = /^[^\ufffd-\uffff\u{10ffff}]{1,3}$/u;

/** The trigrams that are searched for. More hardly reduce the rows that are found. */
const maxTrigrams = 32;

/** A short text itself, or the trigrams of a long one. */
function partsOf(text: string): SearchParts {
  if (shortText.test(text)) return { parts: [text], areExact: true };
  const characters = [...text];
  const trigrams = characters.slice(2).map((_, i) => characters.slice(i, i + 3).join(""));
  return { parts: [...new Set(trigrams)].slice(0, maxTrigrams), areExact: false };
}

/**
 * An FTS5 query for all parts. One character is searched for between two marks, two characters as the start of any
 * trigram in the vocabulary of the index, which a subquery reads: there may be thousands.
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

/** The table of the trigrams that an index has. */
function termsOf({ table, column }: Pick<ContentColumn, "table" | "column">): RawBuilder<unknown> {
  return sql.table(`${table}_${column}_trigrams`);
}

/** An FTS5 query for the tokens of a set and of its scope. */
function setQuery(
  contents: readonly Content[],
  parent: Expression<unknown> | undefined,
  ranges: Expression<unknown> | undefined,
): RawBuilder<unknown> {
  const wanted = contents.filter(({ operator }) => operator !== "hasNone").map(membersQuery);
  const unwanted = contents.filter(({ operator }) => operator === "hasNone").map(membersQuery);
  if (parent !== undefined) wanted.push(token("p", parent));
  if (ranges !== undefined) wanted.push(rangesQuery(ranges));
  if (wanted.length === 0) wanted.push(sql`'a'`); // the token of "", which every row has
  return sql.join([sql.join(wanted, sql` || ' AND ' || `), ...unwanted], sql` || ' NOT ' || `);
}

function membersQuery({ operator, value }: Content): RawBuilder<unknown> {
  if (operator === "has") return token("x", value);
  // No row has the token `none`, which stands for an empty array.
  return sql`(select '(' || coalesce(group_concat(${token("x", sql.ref("value"))}, ' OR '), 'none') || ')' from json_each(${value}))`;
}

/**
 * An FTS5 query for ranges of keys: everything below the uid of each range, and the uid itself unless the range starts
 * with `/` after it.
 */
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

/** A contentless FTS5 table removes a row by the document that was added for it. */
function indexMaintenance(table: string, column: string, type: ContentType): IndexMaintenance {
  const [index, held, key] = [indexOf({ table, column }), sql.ref(column), sql.ref(rowKey)];
  const row = sql`(select ${key} from ${sql.table(table)} where uid = ${slot("uid")})`;
  return {
    add: sql`insert into ${index} (rowid, ${held}) values (${row}, ${slot("document")})`,
    drop: sql`insert into ${index} (${index}, rowid, ${held}) values ('delete', ${row}, ${slot("document")})`,
    documentOf: (uid, value) =>
      type === "texts" ? tokensOf(uid, value as readonly string[]) : marked(value as string),
  };
}

/** Reads them from the schema, which has the text of the statements of {@link contentIndex}. */
async function maintainedIndexes(
  query: Dialect["query"],
  connection: SqlConnection,
): Promise<readonly ContentIndexing[]> {
  const text = "select name, sql from sqlite_master where sql like 'create virtual table%using fts5(%'";
  const rows = (await connection.rows({ text, slots: [] }, {})) as [string, string][];
  return rows.map(([index, created]) => {
    const column = /fts5\("(\w+)"/.exec(created)![1]!;
    const table = index.slice(0, -column.length - 1);
    const type = created.includes("tokenize = 'ascii'") ? "texts" : "search";
    const { add, documentOf } = indexMaintenance(table, column, type);
    const statement = compile(query, add);
    const held = compile(query, sql`select ${sql.ref(column)} from ${sql.table(table)} where uid = ${slot("uid")}`);
    return {
      table,
      async index(connection, uids) {
        for (const uid of uids) {
          const [[value]] = (await connection.rows(held, { uid })) as [[string]];
          await connection.run(statement, {
            uid,
            document: documentOf(uid, type === "texts" ? JSON.parse(value) : value),
          });
        }
      },
    };
  });
}

function tokensOf(uid: string, texts: readonly string[]): string {
  const above = ancestorsWithRoot(uid).map((ancestor) => `a${hex(ancestor)}`);
  return [`u${hex(uid)}`, `p${hex(parentOf(uid))}`, ...above, ...texts.map((text) => `x${hex(text)}`)].join(" ");
}

/** A text and its distinct characters, each followed by a mark. */
function marked(text: string): string {
  return [text, ...[...new Set(text)].sort(), ""].join(mark);
}

function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}
