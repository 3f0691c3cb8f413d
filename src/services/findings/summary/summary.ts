/** Sums the counts of repos over days, for the groups, repos and levels that are asked for apart. */
import { Finding_Level } from "../../../../gen/platform/findings/v1/findings_pb.ts";
import { parentOf } from "../../../uid.ts";
import type { DayCounts } from "./stored-counts.ts";

/** What may be counted apart. */
export const dimensions = ["day", "group", "repo", "level"] as const;
export type Dimension = (typeof dimensions)[number];

/** The counts of one row of an answer. What is not counted apart is absent. */
export interface SummedCounts {
  readonly day?: number;
  readonly group?: string;
  readonly repo?: string;
  readonly level?: Finding_Level;
  readonly open: number;
  readonly opened: number;
  readonly resolved: number;
}

/** Which rows are wanted. */
export interface SummaryQuery {
  readonly by: ReadonlySet<Dimension>;
  /** The first and the last day; none if the first is later. */
  readonly from: number;
  readonly to: number;
}

type Place = Pick<SummedCounts, "group" | "repo" | "level">;

/** On one day. */
interface Step {
  /** How many more are open than on the day before. */
  change: number;
  opened: number;
  resolved: number;
}

const levels = Object.values(Finding_Level).filter((level) => typeof level === "number");

/** The sums so far. */
export class Summary {
  readonly #query: SummaryQuery;
  readonly #places = new Map<string, { readonly place: Place; readonly steps: Map<number, Step> }>();

  constructor(query: SummaryQuery) {
    this.#query = query;
  }

  /** @param endDay the day from which on it is not open any more, or counted elsewhere. */
  add(repo: string, { day, open, opened, resolved }: DayCounts, endDay = Number.POSITIVE_INFINITY): void {
    const { from, to } = this.#query;
    if (from > to || day > to || endDay <= from) return;
    for (const level of levels) {
      if (open[level] === 0 && opened[level] === 0 && resolved[level] === 0) continue;
      const steps = this.#stepsOf(repo, level);
      this.#step(steps, Math.max(day, from), { change: open[level]! });
      if (endDay <= to) this.#step(steps, endDay, { change: -open[level]! });
      if (day >= from) this.#step(steps, day, { opened: opened[level]!, resolved: resolved[level]! });
    }
  }

  /** The rows in order, without those that are 0; undefined if they are more than `limit`. */
  rows(limit: number): SummedCounts[] | undefined {
    const rows: SummedCounts[] = [];
    for (const { place, steps } of this.#places.values()) {
      for (const row of this.#query.by.has("day") ? this.#days(steps) : [totalOf(steps)]) {
        if (row.open === 0 && row.opened === 0 && row.resolved === 0) continue;
        if (rows.push({ ...place, ...row }) > limit) return undefined;
      }
    }
    return rows.sort(compare);
  }

  /** From the first step on, each day on which something is open or changes. */
  *#days(steps: ReadonlyMap<number, Step>) {
    const inOrder = [...steps].sort(([a], [b]) => a - b);
    let open = 0;
    for (const [i, [first, { change, opened, resolved }]] of inOrder.entries()) {
      open += change;
      yield { day: first, open, opened, resolved };
      const end = inOrder[i + 1]?.[0] ?? this.#query.to + 1;
      for (let day = first + 1; day < end && open !== 0; day++) yield { day, open, opened: 0, resolved: 0 };
    }
  }

  #stepsOf(repo: string, level: Finding_Level): Map<number, Step> {
    const { by } = this.#query;
    const place = {
      ...(by.has("group") && { group: parentOf(repo) }),
      ...(by.has("repo") && { repo }),
      ...(by.has("level") && { level }),
    };
    const key = Object.values(place).join(" ");
    const known = this.#places.get(key);
    if (known !== undefined) return known.steps;
    const steps = new Map<number, Step>();
    this.#places.set(key, { place, steps });
    return steps;
  }

  #step(steps: Map<number, Step>, day: number, { change = 0, opened = 0, resolved = 0 }: Partial<Step>): void {
    const step = steps.get(day);
    if (step === undefined) steps.set(day, { change, opened, resolved });
    else {
      step.change += change;
      step.opened += opened;
      step.resolved += resolved;
    }
  }
}

function totalOf(steps: ReadonlyMap<number, Step>) {
  const total = { open: 0, opened: 0, resolved: 0 };
  for (const { change, opened, resolved } of steps.values()) {
    total.open += change;
    total.opened += opened;
    total.resolved += resolved;
  }
  return total;
}

function compare(a: SummedCounts, b: SummedCounts): number {
  const byDay = (a.day ?? 0) - (b.day ?? 0);
  return byDay || compareTexts(a.group, b.group) || compareTexts(a.repo, b.repo) || (b.level ?? 0) - (a.level ?? 0);
}

function compareTexts(a = "", b = ""): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
