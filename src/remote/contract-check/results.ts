/** What a check of a server finds. */
import { isDeepStrictEqual } from "node:util";
import { type RuleId, rules } from "./rules.ts";

/** The outcome of a rule for an operation. */
export interface Result {
  readonly rule: RuleId;
  /** `ListRepos`. */
  readonly operation: string;
  readonly outcome: "passed" | "differs" | "skipped";
  /** How often it was compared. */
  readonly count: number;
  /** Of the first difference. */
  readonly expected?: unknown;
  readonly actual?: unknown;
  /** Why it was skipped. */
  readonly reason?: string;
}

/** Collects results: one for each rule and operation, whose first difference is kept. */
export class Results {
  readonly #results = new Map<string, Result>();

  /** All of them, in the order of the rules. */
  get all(): readonly Result[] {
    const order = Object.keys(rules);
    return [...this.#results.values()].sort((a, b) => order.indexOf(a.rule) - order.indexOf(b.rule));
  }

  /** Compares values of JSON. Returns whether they are equal. */
  compare(rule: RuleId, operation: string, actual: unknown, expected: unknown): boolean {
    const isEqual = isDeepStrictEqual(actual, expected);
    const before = this.#results.get(`${rule} ${operation}`);
    const count = (before?.count ?? 0) + 1;
    const difference = isEqual || before?.outcome === "differs" ? undefined : { expected, actual };
    this.#set({
      rule,
      operation,
      ...(before?.outcome === "differs" ? before : { outcome: isEqual ? "passed" : "differs", ...difference }),
      count,
    });
    return isEqual;
  }

  /** Notes that a rule was not checked. */
  skip(rule: RuleId, operation: string, reason: string): void {
    this.#set({ rule, operation, outcome: "skipped", count: 0, reason });
  }

  #set(result: Result): void {
    this.#results.set(`${result.rule} ${result.operation}`, result);
  }
}
