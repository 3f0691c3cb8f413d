/** What a check finds. */

/** `failure`: something does not work, or is not safe. `warning`: it soon will not. `skipped`: it was not checked. */
export type FindingState = "ok" | "warning" | "failure" | "skipped";

/** The result of one check. */
export interface Finding {
  /** The name of the check. */
  readonly check: string;
  readonly state: FindingState;
  readonly message: string;
  /** What to do, or what may be done. */
  readonly advice?: string;
  /** Each thing that was found, where there are several. */
  readonly details?: readonly string[];
}

export function ok(check: string, message: string): Finding {
  return { check, state: "ok", message };
}

export function skipped(check: string, message: string): Finding {
  return { check, state: "skipped", message };
}

export function warning(check: string, message: string, advice: string, details?: readonly string[]): Finding {
  return { check, state: "warning", message, advice, ...(details && { details }) };
}

export function failure(check: string, message: string, advice: string, details?: readonly string[]): Finding {
  return { check, state: "failure", message, advice, ...(details && { details }) };
}

/** `1 key`, `2 keys`. */
export function countText(count: number, name: string): string {
  return `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
}
