/**
 * Regular expressions of tenants, in RE2 syntax: matching takes time linear in the length of the value. Three more
 * limits bound the constant factor:
 *
 * - A pattern has at most 1024 characters and compiles to at most 256 instructions. Counted repetition makes a large
 *   program of a short pattern, so the size is estimated from the text first: (characters + counts) × the product of
 *   the counts that follow a group.
 * - Instructions × characters of the value is at most 2¹⁶: values of 256 characters are matched with every pattern,
 *   longer ones with smaller patterns. A value beyond that, or beyond 1024 characters, does not match.
 * - At most 1024 compiled patterns are cached, while they and their automata are below about 32 MiB in total.
 */
import { RE2JS } from "@bufbuild/re2";
import { LruMap } from "../../lru-map.ts";
import { shorten } from "../../violations.ts";

const maxLength = 1024;
const maxInstructions = 256;
const maxEstimate = 4 * 1024;
const maxWork = 2 ** 16;
const maxKeptBytes = 2 ** 25;
const bytesOfInstruction = 100;
/** The table of a state for ASCII. A state also has a list of instructions. */
const bytesOfState = 1200;

/** The compiled pattern of a text, or the reason why it is none. */
const compiled = new LruMap<string, RE2JS | string>(1024);
/** The bytes added to `compiled` since it was cleared, evicted patterns included. */
let keptBytes = 0;

/** Why a text is not a valid pattern, to follow the name of its field; undefined for a valid one. */
export function patternFault(text: string): string | undefined {
  const re = compile(text);
  return typeof re === "string" ? re : undefined;
}

/** Whether the whole value matches the pattern. */
export function matchesPattern(pattern: string, value: string): boolean {
  const re = compile(pattern);
  if (typeof re === "string") return false;
  const { prog, dfa } = re.re2();
  const instructions = prog.numInst();
  if (value.length > maxLength || value.length * instructions > maxWork) return false;
  const states = dfa.stateCount;
  const matches = re.testExact(value);
  keep((dfa.stateCount - states) * (bytesOfState + 4 * instructions));
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
