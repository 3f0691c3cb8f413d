/**
 * The order of Debian versions (Debian policy, 5.6.12; deb-version(7)): `[epoch:]upstream[-revision]`.
 *
 * Epochs compare as numbers, then the upstream versions, then the revisions, each as alternating runs of non-digits and
 * digits. Runs of digits compare as numbers, others character by character: `~` before the end, the end before letters,
 * letters before everything else.
 */
import type { Ordering } from "./ordering.ts";
import { compareDigits } from "./parts.ts";

/** The runs of each part. */
interface Version {
  readonly epoch: readonly string[];
  readonly upstream: readonly string[];
  readonly revision: readonly string[];
}

/** The order of Debian. Any text is a version. */
export const debOrdering: Ordering<Version> = {
  parse,
  compare: (x, y) =>
    compareRuns(x.epoch, y.epoch) || compareRuns(x.upstream, y.upstream) || compareRuns(x.revision, y.revision),
};

function parse(version: string): Version {
  const [, epoch = "0", rest = ""] = /^(?:([0-9]+):)?(.*)$/s.exec(version.trim())!;
  const dash = rest.lastIndexOf("-");
  const [upstream, revision] = dash < 0 ? [rest, "0"] : [rest.slice(0, dash), rest.slice(dash + 1)];
  return { epoch: runsOf(epoch), upstream: runsOf(upstream), revision: runsOf(revision) };
}

function compareRuns(x: readonly string[], y: readonly string[]): number {
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
