/**
 * Regular expressions that tenants write, in RE2 syntax: matching takes time linear in the value, never exponential. Three more bounds,
 * because linear is not yet little:
 *
 * - A pattern has at most 1024 characters and compiles to at most 1024 instructions. Counted repetition is what makes a short pattern a
 *   large program, so its size is estimated from the text first: (characters + counts) × the product of counts that follow a group.
 * - Instructions × characters of the value is at most 2¹⁷; a value beyond that, or beyond 1024 characters, does not match.
 * - Compiled patterns are kept, at most 512, as long as the automaton grown inside them stays near 256 KiB.
 */
import { RE2JS } from "@bufbuild/re2";
import { RecentMap } from "../recent-map.ts";

const maxLength = 1024;
const maxInstructions = 1024;
const maxEstimate = 16 * 1024;
const maxWork = 2 ** 17;
const maxAutomatonWords = 2 ** 16;

/** null: not a usable pattern. */
const compiled = new RecentMap<string, RE2JS | null>(512);

/** Whether a text is a pattern within the bounds; what is not one matches nothing. */
export function isPattern(text: string): boolean {
  return compile(text) !== null;
}

/** Whether the whole value matches the pattern. */
export function matchesPattern(pattern: string, value: string): boolean {
  const re = compile(pattern);
  if (re === null) return false;
  const { prog, dfa } = re.re2();
  if (value.length > maxLength || value.length * prog.numInst() > maxWork) return false;
  const matches = re.testExact(value);
  // A state holds a table for ASCII and a list of instructions.
  if (dfa.stateCount * (prog.numInst() + 300) > maxAutomatonWords) compiled.delete(pattern);
  return matches;
}

function compile(text: string): RE2JS | null {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const re = compileAnew(text);
  compiled.set(text, re);
  return re;
}

function compileAnew(text: string): RE2JS | null {
  if (text.length > maxLength || estimate(text) > maxEstimate) return null;
  try {
    const re = new RE2JS(text);
    return re.re2().prog.numInst() > maxInstructions ? null : re;
  } catch {
    return null;
  }
}

/** Half the compiled size or more: a counted group ends with `)`, anything else that is counted is one instruction, two with its branch. */
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
