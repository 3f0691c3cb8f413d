/** The interface of a migration. */
import type { CompiledQuery, OperationNodeSource, QueryExecutorProvider } from "kysely";
import type { Dialect } from "./sql/dialect.ts";
import type { SqlConnection } from "./sql/statement.ts";

/** One step of the schema. It never changes once released. */
export interface Migration {
  /** Its number in the order and its subject, as in `0001-foundation`. */
  readonly name: string;
  /** What it makes others wait for, and what its duration depends on; printed before it runs. */
  readonly locks: string;
  /** The statements of the step, in order. */
  statements(
    dialect: Dialect,
  ): readonly (OperationNodeSource & { compile(builder: QueryExecutorProvider): CompiledQuery })[];
  /** Runs after the statements and changes rows where SQL cannot: by values that only their messages have. */
  fill?(connection: SqlConnection, dialect: Dialect): Promise<void>;
}
