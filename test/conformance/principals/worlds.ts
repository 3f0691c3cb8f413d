/** The two installations that worlds run at, one world after the other, and how a world that fails is made smaller. */
import { setTimeout as delay } from "node:timers/promises";
import type { EmptyDatabase } from "../databases.ts";
import { checkEnd, lastRecord } from "./finish.ts";
import { Installation } from "./installation.ts";
import { Run, Violated, type Violation } from "./run.ts";
import { runSteps } from "./steps.ts";
import type { Step, World } from "./world.ts";

/** How many worlds share installations, whose tables grow. */
const worldsOfInstallations = 250;

/** A world that fails. */
export interface Failure {
  readonly world: World;
  readonly violation: Violation;
}

/** Runs worlds. */
export class Worlds {
  readonly #create: () => Promise<EmptyDatabase>;
  #installations: Run["installations"] | undefined;
  #started = 0;
  #names = 0;

  constructor(create: () => Promise<EmptyDatabase>) {
    this.#create = create;
  }

  /** Runs worlds, then reads their records, which are written within a second. Returns those that fail. */
  async run(worlds: readonly World[]): Promise<Failure[]> {
    const installations = await this.#ready(worlds.length);
    const failures: Failure[] = [];
    /** Whether it succeeds. */
    const attempt = async (world: World, work: () => Promise<void>): Promise<boolean> => {
      try {
        await work();
        return true;
      } catch (error) {
        if (!(error instanceof Violated)) throw error;
        failures.push({ world, violation: error.violation });
        return false;
      }
    };
    const ended: Run[] = [];
    for (const world of worlds) {
      const run = await Run.begin(`w${this.#names++}`, world, installations);
      if (await attempt(world, () => runSteps(run))) ended.push(run);
      run.end();
    }
    const last = ended.at(-1);
    if (last === undefined) return failures;
    const isWritten = await lastRecord(last);
    while (!(await isWritten())) await delay(50);
    for (const run of ended) await attempt(run.world, () => checkEnd(run));
    return failures;
  }

  async #ready(count: number): Promise<Run["installations"]> {
    if (this.#installations !== undefined && this.#started + count > worldsOfInstallations) await this.stop();
    if (this.#installations === undefined) {
      this.#started = 0;
      const [x, y] = await Promise.all([this.#create(), this.#create()]);
      this.#installations = { x: await Installation.start(x), y: await Installation.start(y) };
    }
    this.#started += count;
    return this.#installations;
  }

  async stop(): Promise<void> {
    const { x, y } = this.#installations ?? {};
    this.#installations = undefined;
    await Promise.all([x?.stop(), y?.stop()]);
  }

  /** The smallest part of a world that is found to fail in the same way. */
  async smallest({ world, violation }: Failure): Promise<Failure> {
    let best: Failure = { world, violation };
    const improve = async (candidates: readonly World[]): Promise<boolean> => {
      const failures = candidates.length === 0 ? [] : await this.run(candidates);
      const same = failures.filter((failure) => failure.violation.kind === violation.kind);
      const sizeOf = (failure: Failure) => JSON.stringify(failure.world).length;
      const [smallest] = same.sort((a, b) => sizeOf(a) - sizeOf(b));
      if (smallest === undefined || sizeOf(smallest) >= sizeOf(best)) return false;
      best = smallest;
      return true;
    };
    const without = (isLeftOut: (step: Step, i: number) => boolean): World => {
      return { ...best.world, steps: best.world.steps.filter((step, i) => !isLeftOut(step, i)) };
    };
    await improve([without((_, i) => i >= violation.step)]);
    while (await improve(["B", "C", "D"].map((org) => without((step) => step.org === org)))) {}
    for (let size = Math.ceil(best.world.steps.length / 4); size >= 1; ) {
      const starts = Array.from({ length: Math.ceil(best.world.steps.length / size) }, (_, i) => i * size);
      const isSmaller = await improve(starts.map((start) => without((_, i) => i >= start && i < start + size)));
      if (!isSmaller) size = size === 1 ? 0 : Math.ceil(size / 2);
    }
    const simplified = () =>
      best.world.steps.flatMap((step, i) =>
        simpler(step).map((other) => ({ ...best.world, steps: best.world.steps.with(i, other) })),
      );
    while (await improve(simplified())) {}
    return best;
  }
}

/** A step with one of its parts left out. */
function simpler(step: Step): Step[] {
  const texts = new Set<string>();
  const plainest: Record<string, unknown> = {
    ...{ folder: 0, pick: 0, session: 0, over: "rest", isKeyed: false, hasEmail: false },
    ...{ like: "none", groups: [], repo: "", repoPattern: "", namesKey: true },
  };
  const visit = (value: Record<string, unknown>, rebuild: (changed: Record<string, unknown>) => unknown) => {
    for (const [name, field] of Object.entries(value)) {
      if (name in plainest && JSON.stringify(field) !== JSON.stringify(plainest[name]))
        texts.add(JSON.stringify(rebuild({ ...value, [name]: plainest[name] })));
      if (typeof field === "object" && field !== null && !Array.isArray(field))
        visit(field as Record<string, unknown>, (changed) => rebuild({ ...value, [name]: changed }));
    }
  };
  visit(step as unknown as Record<string, unknown>, (changed) => changed);
  return [...texts].map((text) => JSON.parse(text));
}
