/** What a check of a server finds. */
import { isDeepStrictEqual } from "node:util";
import { type RuleId, rules } from "./rules.ts";

/** The outcome of a rule for an operation. */
export interface Result {
  readonly rule: RuleId;
  /** `ListRepos`. */
  readonly operation: string;
  /** `known`: it differs, and the baseline says so. `noted`: nothing was compared; `actual` is what was found. */
  readonly outcome: "passed" | "differs" | "known" | "skipped" | "noted";
  /** How often it was compared. */
  readonly count: number;
  /** Of the first difference. */
  readonly expected?: unknown;
  readonly actual?: unknown;
  /** Why it was skipped. */
  readonly reason?: string;
}

/** Which results are wanted, and which differences are known. */
export interface ResultOptions {
  /** Default: every result. */
  readonly isSelected?: (rule: RuleId, operation: string) => boolean;
  /** Keys of {@link keyOf}. */
  readonly baseline?: ReadonlySet<string> | undefined;
}

/** What two runs have in common for one result. */
export function keyOf({ rule, operation }: Pick<Result, "rule" | "operation">): string {
  return `${rule} ${operation}`;
}

/** Collects results: one for each rule and operation, whose first difference is kept. */
export class Results {
  readonly #results = new Map<string, Result>();
  readonly #options: ResultOptions;

  constructor(options: ResultOptions = {}) {
    this.#options = options;
  }

  /** All of them, in the order of the rules. */
  get all(): readonly Result[] {
    const order = Object.keys(rules);
    const { baseline } = this.#options;
    return [...this.#results.values()]
      .map(
        (result): Result =>
          result.outcome === "differs" && baseline?.has(keyOf(result)) ? { ...result, outcome: "known" } : result,
      )
      .sort((a, b) => order.indexOf(a.rule) - order.indexOf(b.rule));
  }

  /** Compares values of JSON. Returns whether they are equal. */
  compare(rule: RuleId, operation: string, actual: unknown, expected: unknown): boolean {
    const isEqual = isDeepStrictEqual(actual, expected);
    const before = this.#results.get(keyOf({ rule, operation }));
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

  /** Notes that a rule was not checked, if it was not checked otherwise. */
  skip(rule: RuleId, operation: string, reason: string): void {
    if (this.#results.has(keyOf({ rule, operation }))) return;
    this.#set({ rule, operation, outcome: "skipped", count: 0, reason });
  }

  /** Notes what was found. */
  note(rule: RuleId, actual: unknown): void {
    const operation = "every method";
    this.#results.set(keyOf({ rule, operation }), { rule, operation, outcome: "noted", count: 1, actual });
  }

  #set(result: Result): void {
    if (this.#options.isSelected?.(result.rule, result.operation) === false) return;
    this.#results.set(keyOf(result), result);
  }
}
