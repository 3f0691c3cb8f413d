/** Whether a server takes calls: named checks, each of which says why not. */

/** One condition of readiness, and why it does not hold; undefined while it does. */
export interface Check {
  readonly name: string;
  readonly failure: string | undefined;
  /** More members of the JSON document while it does not hold. */
  readonly details?: object | undefined;
}

/** The conditions of a server. */
export interface Readiness {
  /** Adds a condition, or replaces that of this name. Conditions are reported in the order in which they were added. */
  set(name: string, failure: () => string | undefined, details?: () => object): void;
  checks(): readonly Check[];
  /** Why the server takes no calls, in one line: the failure of the first condition that does not hold. */
  unreadiness(): string | undefined;
  /** What `/readyz` answers: the failure of that condition, with its details. */
  document(): object;
}

/** Without a report for this long, an event loop is considered unable to answer calls. */
const maxUnreadySilenceMs = 10_000;

/** Creates the readiness of a server that starts. */
export function createReadiness(): Readiness {
  const conditions = new Map<string, () => Omit<Check, "name">>();
  const checks = () => Array.from(conditions, ([name, check]) => ({ name, ...check() }));
  return {
    set(name, failure, details) {
      conditions.set(name, () => ({ failure: failure(), ...(details && { details: details() }) }));
    },
    checks,
    unreadiness: () => failureOf(checks()),
    document: () => documentOf(checks()),
  };
}

/** The JSON document of checks: the failure of the first condition that does not hold, with its details. */
export function documentOf(checks: readonly Check[]): object {
  const failed = checks.find(({ failure }) => failure !== undefined);
  return { status: failed?.failure ?? "ok", ...failed?.details };
}

/** The failure of the first condition that does not hold. */
export function failureOf(checks: readonly Check[]): string | undefined {
  return checks.find(({ failure }) => failure !== undefined)?.failure;
}

/** The condition that an event loop moves. */
export function eventLoopCheck(silentMs: number): Check {
  const failure = silentMs > maxUnreadySilenceMs ? `silent for ${Math.round(silentMs / 1000)} s` : undefined;
  return { name: "event-loop", failure };
}

/** The text that `/readyz?verbose` answers, in the form of Kubernetes. */
export function formatChecks(checks: readonly Check[], isReady: boolean): string {
  const lines = checks.map(({ name, failure }) =>
    failure === undefined ? `[+]${name} ok` : `[-]${name} failed: ${failure}`,
  );
  return `${[...lines, `readyz check ${isReady ? "passed" : "failed"}`].join("\n")}\n`;
}
