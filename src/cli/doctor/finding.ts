/** What a check finds. */

/** `failure`: something does not work, or is not safe. `warning`: it soon will not. `skipped`: it was not checked. */
type FindingState = "ok" | "warning" | "failure" | "skipped";

/** What one check finds. */
export interface CheckResult {
  readonly state: FindingState;
  readonly message: string;
  /** What to do, or what may be done. */
  readonly advice?: string;
  /** Each thing that was found, where there are several. */
  readonly details?: readonly string[];
}

export function ok(message: string): CheckResult {
  return { state: "ok", message };
}

export function skipped(message: string): CheckResult {
  return { state: "skipped", message };
}

export function warning(message: string, advice: string, details?: readonly string[]): CheckResult {
  return { state: "warning", message, advice, ...(details && { details }) };
}

export function failure(message: string, advice: string, details?: readonly string[]): CheckResult {
  return { state: "failure", message, advice, ...(details && { details }) };
}

/** `1 key`, `2 keys`. */
export function countText(count: number, name: string): string {
  return `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
}
