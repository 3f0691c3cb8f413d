/** Which results are wanted: `--only` and `--skip`. */
import { CommandFailure } from "../../command/index.ts";
import { suggestion } from "../../did-you-mean.ts";
import { unaryMethods } from "./calls.ts";
import { type RuleId, rules } from "./rules.ts";

/** Terms: a rule (`lists/skip`), the first part of several (`lists`), or a method (`ListRepos`). */
export interface SelectionOptions {
  /** Empty for all. */
  readonly only: readonly string[];
  readonly skip: readonly string[];
}

/** What the terms select. */
export interface Selection {
  isSelected(rule: RuleId, operation: string): boolean;
  /** Whether a rule may be selected for some operation. */
  mayBeSelected(rule: RuleId): boolean;
}

/** Reads the terms. Errors: CommandFailure for one that is none. */
export function selectionOf({ only, skip }: SelectionOptions): Selection {
  const ids = Object.keys(rules);
  const known = new Set([...ids, ...ids.map(groupOf), ...unaryMethods().map(({ name }) => name)]);
  for (const [flag, terms] of Object.entries({ "--only": only, "--skip": skip }))
    for (const term of terms)
      if (!known.has(term))
        throw new CommandFailure(`${flag}: there is no rule or method ${term}${suggestion(term, known)}`, 2);
  const isRule = (terms: readonly string[], rule: RuleId) => terms.includes(rule) || terms.includes(groupOf(rule));
  const methods = only.filter((term) => /^[A-Z]/.test(term));
  return {
    isSelected: (rule, operation) =>
      (only.length === 0 || isRule(only, rule) || only.includes(operation)) &&
      !isRule(skip, rule) &&
      !skip.includes(operation),
    mayBeSelected: (rule) => (only.length === 0 || isRule(only, rule) || methods.length > 0) && !isRule(skip, rule),
  };
}

function groupOf(rule: string): string {
  return rule.slice(0, rule.indexOf("/"));
}
