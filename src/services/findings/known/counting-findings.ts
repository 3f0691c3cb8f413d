/** The findings that a filter counts, of each component computed once. */
import type { Finding_Level } from "../../../../gen/platform/findings/v1/findings_pb.ts";
import type { FindingState, FixState } from "../../../matching/index.ts";
import type { StoredComponent } from "../../matches/components.ts";
import type { Resolved } from "./resolved.ts";

/** Which findings count. Absent members and empty sets do not restrict. */
export interface FindingFilter {
  readonly states: ReadonlySet<FindingState>;
  readonly vulnerabilityIds?: readonly string[];
  readonly levels?: ReadonlySet<Finding_Level>;
  readonly minEpss?: number | undefined;
  readonly knownExploited?: boolean | undefined;
  readonly fixStates?: ReadonlySet<FixState>;
  /** Which components count. */
  readonly isWanted?: ((component: StoredComponent) => boolean) | undefined;
}

/** What is known about components that were loaded, by their numbers. */
interface LoadedComponents {
  component(number: number): StoredComponent;
  findings(number: number): readonly Resolved[];
}

/** The findings that count, by the numbers of components. */
export class CountingFindings {
  readonly #known: LoadedComponents;
  readonly #filter: FindingFilter;
  readonly #ids: ReadonlySet<string>;
  readonly #isCounting: (finding: Resolved) => boolean;
  readonly #found: (readonly Resolved[] | undefined)[] = [];

  constructor(known: LoadedComponents, filter: FindingFilter) {
    this.#known = known;
    this.#filter = filter;
    this.#ids = new Set(filter.vulnerabilityIds);
    this.#isCounting = (finding) => counts(finding, filter, this.#ids);
  }

  /** Those of a component that was loaded. */
  of(number: number): readonly Resolved[] {
    return this.#found[number] ?? this.#compute(number);
  }

  /** Whether a finding of a component counts. */
  counts(component: StoredComponent, finding: Resolved): boolean {
    return this.#isCounting(finding) && this.#filter.isWanted?.(component) !== false;
  }

  #compute(number: number): readonly Resolved[] {
    const all = this.#known.findings(number);
    // Most have none that count: these make no garbage.
    const isNone = !all.some(this.#isCounting) || this.#filter.isWanted?.(this.#known.component(number)) === false;
    const found = isNone ? none : all.every(this.#isCounting) ? all : all.filter(this.#isCounting);
    this.#found[number] = found;
    return found;
  }
}

const none: readonly Resolved[] = [];

/** A text that two filters have in common only if they count the same; undefined for those that are rarely equal. */
export function keyOfFilter(filter: FindingFilter): string | undefined {
  const { states, vulnerabilityIds = [], levels = [], minEpss, knownExploited, fixStates = [], isWanted } = filter;
  if (isWanted !== undefined || vulnerabilityIds.length > 0) return undefined;
  return JSON.stringify([[...states], [...levels], minEpss, knownExploited, [...fixStates]]);
}

function counts({ vulnerability, state, statements }: Resolved, filter: FindingFilter, ids: ReadonlySet<string>) {
  const { states, levels, minEpss, knownExploited, fixStates } = filter;
  const { level, epss, id, aliases } = vulnerability;
  return (
    states.has(state) &&
    (ids.size === 0 || ids.has(id) || aliases.some((alias) => ids.has(alias))) &&
    (levels === undefined || levels.size === 0 || levels.has(level)) &&
    (minEpss === undefined || (epss ?? -1) >= minEpss) &&
    (knownExploited === undefined || vulnerability.knownExploited === knownExploited) &&
    (fixStates === undefined || fixStates.size === 0 || fixStates.has(statements[0]!.match.fixState))
  );
}
