/**
 * Regular expressions of tenants, in RE2 syntax: matching takes time linear in the length of the value. Three more
 * limits bound the constant factor:
 *
 * - A pattern has at most 1024 characters and compiles to at most 256 instructions. Counted repetition makes a large
 *   program of a short pattern, so the size is estimated from the text first: (characters + counts) × the product of
 *   the counts that follow a group.
 * - Classes of Unicode are many ranges, and a range is folded character by character where case is ignored. So a
 *   pattern has at most 8 of them (`\\p{L}`), and no range beyond ASCII if it ignores case.
 * - Instructions × characters of the value is at most 2¹⁶: values of 256 characters are matched with every pattern,
 *   longer ones with smaller patterns. A value beyond that, or beyond 1024 characters, does not match.
 * - The first 10,000 compiled patterns are cached, while they and their automata are below about 64 MiB in total.
 *
 * The automaton of a pattern grows with the values that it is matched with. {@link PatternBudget} bounds that work for
 * an organisation.
 */
import { RE2JS } from "@bufbuild/re2";
import { LruMap } from "../../lru-map.ts";
import { shorten } from "../../violations.ts";

const maxLength = 1024;
const maxInstructions = 256;
const maxEstimate = 4 * 1024;
const maxUnicodeClasses = 8;
const maxWork = 2 ** 16;
const maxKeptBytes = 2 ** 26;
const bytesOfInstruction = 100;
/** The table of a state for ASCII. A state also has a list of instructions. */
const bytesOfState = 1200;

/** The compiled pattern of a text, or the reason why it is none. */
const compiled = new LruMap<string, RE2JS | string>(10_000);
/** The bytes added to `compiled` since it was cleared, evicted patterns included. */
let keptBytes = 0;

/** Why a text is not a valid pattern, to follow the name of its field; undefined for a valid one. */
export function patternFault(text: string): string | undefined {
  const re = compile(text);
  return typeof re === "string" ? re : undefined;
}

/** Whether the whole value matches the pattern. `onWork` is called with the work that it took, if it took any. */
export function matchesPattern(pattern: string, value: string, onWork?: (work: number) => void): boolean {
  const re = compile(pattern);
  if (typeof re === "string") return false;
  const { prog, dfa } = re.re2();
  const instructions = prog.numInst();
  if (value.length > maxLength || value.length * instructions > maxWork) return false;
  const states = dfa.stateCount;
  const matches = re.testExact(value);
  const grown = dfa.stateCount - states;
  keep(Math.max(grown, 0) * (bytesOfState + 4 * instructions));
  // Without an automaton, or with a new one, every character takes work.
  const steps = dfa.failed || grown < 0 ? value.length : grown;
  if (steps > 0) onWork?.(steps * instructions);
  return matches;
}

function compile(text: string): RE2JS | string {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const re = compileAnew(text);
  compiled.set(text, re);
  keep(bytesOfState + (typeof re === "string" ? 0 : re.re2().prog.numInst() * bytesOfInstruction));
  return re;
}

function keep(bytes: number): void {
  keptBytes += bytes;
  if (keptBytes <= maxKeptBytes) return;
  compiled.clear();
  keptBytes = 0;
}

function compileAnew(text: string): RE2JS | string {
  if (text.length > maxLength) return `must have at most ${maxLength} characters`;
  if (estimate(text) > maxEstimate) return "must not repeat so much of itself: its counts multiply";
  if ((text.match(/\\[pP]/g)?.length ?? 0) > maxUnicodeClasses)
    return `must have at most ${maxUnicodeClasses} Unicode classes`;
  if (/\(\?[a-zA-Z]*i/.test(text) && /-(?:\\[x0-7Q]|[^\0-\x7f])/.test(text))
    return "must not ignore case in a range that goes beyond ASCII";
  try {
    const re = new RE2JS(text);
    const instructions = re.re2().prog.numInst();
    if (instructions <= maxInstructions) return re;
    return `must compile to at most ${maxInstructions} instructions, it compiles to ${instructions}`;
  } catch (error) {
    const [, reason, part = ""] = /^error parsing regexp: (.*?)(?:: `(.*)`)?$/s.exec((error as Error).message) ?? [];
    return `must be an RE2 pattern: ${reason} in ${JSON.stringify(shorten(part))}`;
  }
}

/**
 * At least half the compiled size. A counted group ends with `)`; anything else that is counted is one instruction, or
 * two with its branch.
 */
function estimate(pattern: string): number {
  let size = pattern.length;
  let factor = 1;
  for (const [, group, min, max] of pattern.matchAll(/(\))?\{(\d+)(?:,(\d*))?\}/g)) {
    const count = Math.max(Number(min), Number(max ?? 0), 1);
    if (group === undefined) size += count;
    else factor *= count;
  }
  return size * factor;
}

/** How much work an organisation's patterns may take: about 0.2 s of processor time at once, and 2 % of it for ever. */
const burst = 2 ** 20;
const perSecond = 2 ** 17;
const maxOrganisations = 10_000;

/**
 * What is left of the work of organisations. A caller who chooses the values of claims, as anybody can at a public
 * issuer, makes automata grow.
 */
export class PatternBudget {
  readonly #left = new LruMap<string, { work: number; atMs: number }>(maxOrganisations);
  readonly #clock: () => number;

  /** @param clock milliseconds since 1970. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Whether an organisation may match patterns now. */
  hasLeft(organisation: string): boolean {
    return this.#of(organisation).work > 0;
  }

  /** Takes work that is done. */
  spend(organisation: string, work: number): void {
    this.#of(organisation).work -= work;
  }

  #of(organisation: string): { work: number; atMs: number } {
    const nowMs = this.#clock();
    const known = this.#left.get(organisation) ?? { work: burst, atMs: nowMs };
    known.work = Math.min(burst, known.work + (Math.max(0, nowMs - known.atMs) * perSecond) / 1000);
    known.atMs = nowMs;
    this.#left.set(organisation, known);
    return known;
  }
}
