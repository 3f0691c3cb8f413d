/**
 * The order of Debian versions (Debian policy, 5.6.12; deb-version(7)): `[epoch:]upstream[-revision]`.
 *
 * Epochs compare as numbers, then the upstream versions, then the revisions, each as alternating runs of non-digits and
 * digits. Runs of digits compare as numbers, others character by character: `~` before the end, the end before letters,
 * letters before everything else.
 */
import { compareDigits } from "./parts.ts";

/** Negative if `a` is before `b`, 0 if they are equal, positive if it is after. */
export function compareDebVersions(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)];
  return compareRuns(x.epoch, y.epoch) || compareRuns(x.upstream, y.upstream) || compareRuns(x.revision, y.revision);
}

function parse(version: string) {
  const [, epoch = "0", rest = ""] = /^(?:([0-9]+):)?(.*)$/s.exec(version.trim())!;
  const dash = rest.lastIndexOf("-");
  return dash < 0
    ? { epoch, upstream: rest, revision: "0" }
    : { epoch, upstream: rest.slice(0, dash), revision: rest.slice(dash + 1) };
}

function compareRuns(a: string, b: string): number {
  const [x, y] = [runsOf(a), runsOf(b)];
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const order = i % 2 === 0 ? compareTexts(x[i] ?? "", y[i] ?? "") : compareDigits(x[i] ?? "0", y[i] ?? "0");
    if (order !== 0) return order;
  }
  return 0;
}

/** Alternating runs of non-digits and digits. The first is of non-digits and may be empty. */
function runsOf(text: string): string[] {
  const runs: string[] = text.match(/[^0-9]+|[0-9]+/g) ?? [];
  return /^[0-9]/.test(text) ? ["", ...runs] : runs;
}

function compareTexts(x: string, y: string): number {
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const order = rank(x, i) - rank(y, i);
    if (order !== 0) return order;
  }
  return 0;
}

function rank(text: string, i: number): number {
  if (i >= text.length) return 0;
  if (text[i] === "~") return -1;
  const code = text.charCodeAt(i);
  return /[a-zA-Z]/.test(text[i]!) ? code : code + 0x10000;
}
