/** The operators of conditions. */

/**
 * The operator of a condition. `has` is `hasAny` of a single text. `containsExact` is `contains` of a text that the
 * index finds without false positives, so that no row need be read.
 */
export type Operator = ScalarOperator | ContentOperator;

/** Operators on scalar columns. */
export type ScalarOperator = "equals" | "in" | "notIn" | "greaterThan" | "startsWith";

/** Operators on content columns. */
export type ContentOperator = "has" | "hasAny" | "hasNone" | "contains" | "containsExact";
