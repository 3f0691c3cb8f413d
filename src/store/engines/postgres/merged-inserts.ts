/** Inserts of several rows as one statement. */
import { parametersOf, type Statement, type Values } from "../../sql/statement.ts";

/** PostgreSQL numbers parameters with 16 bits. */
const maxParameters = 65_535;
/** The numbers of rows that statements are made for, so that few need to be prepared. */
const sizes = [32, 8, 2];
const oneRow = /^(insert into [^()]+\([^()]+\) values )\(((?:\$\d+(?:, )?)+)\)((?: on conflict do nothing)?)$/;

/** A statement and its values. */
export interface Insert {
  readonly statement: Statement;
  readonly values: Values;
}

const mergeable = new WeakMap<Statement, ReadonlyMap<number, Statement> | null>();

/** Whether a statement inserts one row of values, so that it can be merged with others of its kind. */
export function isMergeable(statement: Statement): boolean {
  return statementsOf(statement) !== null;
}

/** The statements, as few as there are sizes for, that insert all of these rows by one mergeable statement. */
export function merged(statement: Statement, rows: readonly Values[]): Insert[] {
  const bySize = statementsOf(statement);
  const inserts: Insert[] = [];
  let start = 0;
  for (const [size, many] of bySize ?? [])
    for (; rows.length - start >= size; start += size)
      inserts.push({ statement: many, values: numbered(statement, rows.slice(start, start + size)) });
  return [...inserts, ...rows.slice(start).map((values) => ({ statement, values }))];
}

/** The statements for several rows, the largest first. Null if the statement is of another kind. */
function statementsOf(statement: Statement): ReadonlyMap<number, Statement> | null {
  let bySize = mergeable.get(statement);
  if (bySize === undefined) {
    bySize = repeated(statement);
    mergeable.set(statement, bySize);
  }
  return bySize;
}

function repeated({ text, slots }: Statement): ReadonlyMap<number, Statement> | null {
  const [, head, row, tail] = oneRow.exec(text) ?? [];
  if (head === undefined || row === undefined || row.split(", ").length !== slots.length) return null;
  const bySize = new Map<number, Statement>();
  for (const size of sizes) {
    if (size * slots.length > maxParameters) continue;
    const rows = Array.from({ length: size }, (_, i) => {
      const parameters = slots.map((_slot, j) => `$${i * slots.length + j + 1}`);
      return `(${parameters.join(", ")})`;
    });
    const names = Array.from({ length: size * slots.length }, (_, i) => String(i));
    bySize.set(size, { text: `${head}${rows.join(", ")}${tail}`, slots: names });
  }
  return bySize;
}

/** The values of several rows, each under its place. */
function numbered(statement: Statement, rows: readonly Values[]): Values {
  return Object.fromEntries(rows.flatMap((values) => parametersOf(statement, values)).entries());
}
