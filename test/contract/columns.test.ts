/**
 * The columns of resources: each is derived from something that a message can have, each column of a table is derived,
 * and an index finds rows by what a filter compares. Whatever stores a message, a create, an update or an import,
 * derives all columns.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create, type DescField, type DescMessage, type Message, ScalarType } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { localOf, setField } from "../../src/codec/index.ts";
import { contentOf, type Resource } from "../../src/resource/index.ts";
import { postgres } from "../../src/store/engines/postgres/engine.ts";
import { sqlite } from "../../src/store/engines/sqlite/engine.ts";
import { columnsOf } from "../../src/store/index.ts";
import { indexesOf } from "../../src/store/lists/indexes.ts";
import { migrations } from "../../src/store/migrations/index.ts";
import { isContent } from "../../src/store/sql/indexed-column.ts";
import { compile } from "../../src/store/sql/statement.ts";
import { expectNoFaults } from "../faults.ts";
import { databaseOfFile, services } from "../services/served.ts";

const migrationsFolder = "src/store/migrations";
/** The key of tables with content indexes on SQLite. */
const { rowKey } = sqlite;

const database = await databaseOfFile();
const resources = [...new Set(services.flatMap((service) => service.resources))];
const kinds = resources.map((resource) => [resource.contract.kind, resource] as const);
const placeOf = (resource: Resource) => `${declarationFile(resource)}: the declaration of ${resource.contract.kind}`;

test.each(kinds)("of %s", async (_kind, resource) => {
  const { name, columns } = resource.table;
  const place = placeOf(resource);
  const filled = filledColumns(resource);
  const derived = new Set(columnsOf(resource.table));
  const existing = (await database.columns()).get(name) ?? new Set();
  expectNoFaults([
    ...Object.keys(columns)
      .filter((column) => !filled.has(column))
      .map((column) => `${place} derives ${column} from nothing that a message can have`),
    ...[...existing]
      .filter((column) => !derived.has(column) && column !== rowKey)
      .map((column) => `${place} does not derive ${column}, which a migration has added to ${name}`),
  ]);
});

describe.each([sqlite, postgres])("an index on $name", (dialect) => {
  const text = (statement: Parameters<typeof compile>[1]) => compile(dialect.query, statement).text;
  const made = new Set(migrations.flatMap(({ statements }) => statements(dialect).map(text)));
  const indexes = indexesOf(dialect);

  test.each(kinds)("of %s", (_kind, resource) => {
    const { name: table, columns } = resource.table;
    const isIndexed = (column: string) => {
      const type = columns[column];
      if (type !== undefined && isContent(type))
        return dialect.contentIndex(table, column, type).every((statement) => made.has(text(statement)));
      return column === "uid" || indexes.some((index) => index.table === table && index.columns[0] === column);
    };
    expectNoFaults(
      resource.filters.flatMap(({ field, conditionsOf }) => {
        const request = create(field.parent);
        const value = filledValue(field, 0, 1);
        setField(localOf(request), field, field.fieldKind === "list" ? [value] : value);
        const finding = conditionsOf(request).filter((condition) => !("notIn" in condition || "hasNone" in condition));
        const isServed = finding.length === 0 || finding.some(({ column }) => isIndexed(column));
        const filter = field.localName;
        const isExempt = filter in ((resource.declaration.unindexed ?? {}) as object);
        if (isServed !== isExempt) return [];
        if (isServed) return [`${placeOf(resource)} has ${filter} in unindexed, which an index serves`];
        const read = finding.map(({ column }) => column).join(", ");
        return [
          `${placeOf(resource)} has the filter ${filter} by ${read}, of which ${table} has no index: add a migration to ${migrationsFolder}, or give the reason in unindexed`,
        ];
      }),
    );
  });
});

/** The tables with rows that nobody names in a Create, so that a second one is no error of a caller. */
const unnamed = ["artifact_versions", "terms_acceptances"];

test.each(kinds.filter(([, { table }]) => !unnamed.includes(table.name)))("are unique in %s", (_kind, resource) => {
  const { table, declaration } = resource;
  const declared = [...(declaration.unique ?? [])].sort().join(", ");
  expectNoFaults(
    indexesOf(sqlite)
      .filter((index) => index.table === table.name && index.isUnique && index.columns.includes("parent"))
      .map(({ columns }) =>
        columns
          .filter((column) => column !== "parent")
          .sort()
          .join(", "),
      )
      .filter((columns) => columns !== declared)
      .map((columns) => `${placeOf(resource)} lacks unique: ${columns}, of which ${table.name} has a unique index`),
  );
});

test("are those of every resource", () => {
  expect(resources.length).toBeGreaterThan(15);
});

const maxDepth = 4;
/** Messages differ in the members of their oneofs, of at most four each, in the first three levels. */
const choices = 4 ** 3;
/** A text that is the tag of a day, too. */
const text = "latest-20260101";

/** The columns that are not empty for some message. */
function filledColumns(resource: Resource): ReadonlySet<string> {
  const filled = new Set<string>();
  for (let choice = 0; choice < choices; choice++) {
    const { columns } = contentOf(resource, filledMessage(resource.declaration.schema, choice));
    for (const [column, value] of Object.entries(columns))
      if (typeof value === "object" ? value !== null && value.length > 0 : Boolean(value)) filled.add(column);
  }
  return filled;
}

/** A message with a value in every field. */
function filledMessage(desc: DescMessage, choice: number, depth = maxDepth): Message {
  const message = create(desc);
  for (const field of desc.fields) {
    const others = field.oneof?.fields ?? [field];
    const isChosen = others[Math.floor(choice / 4 ** (maxDepth - depth)) % others.length] === field;
    if (!isChosen || field.fieldKind === "map" || (depth === 0 && field.message !== undefined)) continue;
    const value = filledValue(field, choice, depth);
    setField(localOf(message), field, field.fieldKind === "list" ? [value] : value);
  }
  return message;
}

function filledValue({ message, enum: values, scalar }: DescField, choice: number, depth: number): unknown {
  if (message !== undefined) return filledMessage(message, choice, depth - 1);
  if (values !== undefined) return values.values.at(-1)!.number;
  switch (scalar) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return true;
    case ScalarType.BYTES:
      return Buffer.from("bytes");
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return 1n;
    default:
      return 1;
  }
}

/** The file of src/services that declares a resource. */
function declarationFile({ declaration }: Resource): string {
  const folder = join(import.meta.dirname, "../../src/services");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  const declares = (path: string) =>
    readFileSync(join(folder, path), "utf8").includes(`schema: ${declaration.schema.name}Schema`);
  return `src/services/${files.find(declares)}`;
}
