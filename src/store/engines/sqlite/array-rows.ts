/** Statements whose rows are arrays, which the types of Node do not know. */
import type { SQLInputValue, StatementSync } from "node:sqlite";

/** The rows of a statement with `setReturnArrays`. */
export function arrayRows(statement: StatementSync, ...parameters: readonly SQLInputValue[]): unknown[][] {
  return statement.all(...parameters) as unknown as unknown[][];
}
