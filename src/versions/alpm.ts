/**
 * The order of Arch Linux versions (vercmp(8)): `[epoch:]version[-release]`. Releases compare if both versions have
 * one.
 *
 * Versions are runs of digits and runs of letters. Digits compare as numbers and are greater than letters. Letters
 * compare as texts. Other characters separate runs: a version with fewer of them before a run is less. If one version
 * is a prefix of the other, the longer is greater, unless it continues with letters.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits, compareTexts, isDigits } from "./parts.ts";

type Version = ReturnType<typeof parse>;

/** The order of Arch Linux. Any text is a version. */
export const alpmOrdering: Ordering<Version> = { parse, compare };

function compare(x: Version, y: Version): number {
  const order = compareRuns(x.epoch, y.epoch) || compareRuns(x.version, y.version);
  return order !== 0 || x.release === undefined || y.release === undefined ? order : compareRuns(x.release, y.release);
}

function parse(text: string) {
  const [, epoch, rest = ""] = /^(?:([0-9]*):)?(.*)$/s.exec(text)!;
  const dash = rest.lastIndexOf("-");
  const [version = "", release] = dash < 0 ? [rest] : [rest.slice(0, dash), rest.slice(dash + 1)];
  return { epoch: epoch || "0", version, release };
}

function compareRuns(a: string, b: string): number {
  let [x, y] = [a, b];
  while (x !== "" && y !== "") {
    const [left, right] = [nextRun(x), nextRun(y)];
    x = x.slice(left.length);
    y = y.slice(right.length);
    if (left.run === "" || right.run === "") {
      [x, y] = [left.run + x, right.run + y];
      break;
    }
    const order = left.separators - right.separators || compareTwoRuns(left.run, right.run);
    if (order !== 0) return order;
  }
  if (x === "" && y === "") return 0;
  return (x === "" && !/^[a-zA-Z]/.test(y)) || /^[a-zA-Z]/.test(x) ? -1 : 1;
}

/** The run at the start of a text; "" at its end. */
function nextRun(text: string) {
  const [whole, separators = "", run = ""] = /^([^0-9a-zA-Z]*)([0-9]+|[a-zA-Z]+)?/.exec(text)!;
  return { run, separators: separators.length, length: whole.length };
}

function compareTwoRuns(x: string, y: string): number {
  if (isDigits(x) !== isDigits(y)) return isDigits(x) ? 1 : -1;
  return isDigits(x) ? compareDigits(x, y) : compareTexts(x, y);
}
