/**
 * The order of RPM versions (`rpmvercmp` of rpm 4.15 and later): `[epoch:]version[-release]`.
 *
 * Versions are runs of digits and runs of letters; whatever else stands between them only parts them. Digits compare as numbers and are greater
 * than letters, letters compare as texts; of two that are alike so far the longer is greater. `~` is less than anything, the end included, and
 * `^` less than anything but the end. A version without a release comes before the same with one.
 */

/** Less than 0 when `a` is before `b`, 0 when they are the same, more when it is after. */
export function compareRpmVersions(a: string, b: string): number {
  const [x, y] = [parse(a), parse(b)];
  return compareRuns(x.epoch, y.epoch) || compareRuns(x.version, y.version) || compareRuns(x.release, y.release);
}

function parse(text: string) {
  const [, epoch = "0", rest = ""] = /^(?:([0-9]+):)?(.*)$/s.exec(text)!;
  const dash = rest.lastIndexOf("-");
  return dash < 0
    ? { epoch, version: rest, release: "" }
    : { epoch, version: rest.slice(0, dash), release: rest.slice(dash + 1) };
}

function compareRuns(a: string, b: string): number {
  const [x, y] = [a.match(/[0-9]+|[a-zA-Z]+|[~^]/g) ?? [], b.match(/[0-9]+|[a-zA-Z]+|[~^]/g) ?? []];
  for (let i = 0; i < Math.max(x.length, y.length); i++) {
    const order = rank(x[i]) - rank(y[i]) || compareAlike(x[i]!, y[i]!);
    if (order !== 0) return order;
  }
  return 0;
}

/** Of runs of different kinds the order: `~`, the end, `^`, letters, digits. */
function rank(run: string | undefined): number {
  if (run === undefined) return 1;
  if (run === "~") return 0;
  if (run === "^") return 2;
  return /^[0-9]/.test(run) ? 4 : 3;
}

function compareAlike(x: string, y: string): number {
  const [a, b] = /^[0-9]/.test(x) ? [x.replace(/^0+/, ""), y.replace(/^0+/, "")] : [x, y];
  if (/^[0-9]/.test(x) && a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
