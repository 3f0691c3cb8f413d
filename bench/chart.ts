/** Draws the ratios as a bar chart in SVG, for light and dark pages. */
import { reaches } from "./rows.ts";
import { formatLimit, type Outcome } from "./table.ts";

const width = 820;
const columns = { label: 222, barsFrom: 236, barsTo: 660, ratio: 730, accepted: 800 };
const rowHeight = 26;
const headHeight = 58;
const ticks = [0.25, 0.5, 1, 2, 5, 10, 20];

const style = `
    text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
    .head { font-weight: 600; }
    .quiet { fill: #59636e; font-size: 12px; }
    .good { fill: #2da44e; }
    .bad { fill: #d1742f; }
    .plain { fill: #8c959f; }
    .tick { stroke: #d8dee4; }
    .one { stroke: #59636e; }
    .accepted { stroke: #1f2328; stroke-width: 2; }
    .page { fill: #ffffff; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .quiet { fill: #9198a1; }
      .good { fill: #3fb950; }
      .bad { fill: #db8a4a; }
      .plain { fill: #6e7681; }
      .tick { stroke: #2a313a; }
      .one { stroke: #9198a1; }
      .accepted { stroke: #f0f6fc; }
      .page { fill: #0d1117; }
    }
  `;

/**
 * Draws each ratio as a bar from 1, on a logarithmic scale. A short line marks the accepted ratio. Rates first, then
 * times.
 */
export function drawChart(outcomes: readonly Outcome[]): string {
  const ratios = outcomes.flatMap(({ sqlite, bar }) => [sqlite.ratio, bar?.[0] ?? 1]);
  const [lowest, highest] = [Math.min(0.5, ...ratios), Math.max(2, ...ratios)];
  const scale: Scale = (ratio) => {
    const part = Math.log(ratio / lowest) / Math.log(highest / lowest);
    return columns.barsFrom + part * (columns.barsTo - columns.barsFrom);
  };
  const seen = ticks.filter((tick) => tick >= lowest && tick <= highest);
  const rates = outcomes.filter(({ figure }) => figure === "perSecond");
  const times = outcomes.filter(({ figure }) => figure !== "perSecond");
  const timesTop = heightOf(rates);
  const height = timesTop + heightOf(times) + 12;
  const shapes = [
    ...drawGroup("Calls a second: more is better", rates, 0, seen, scale),
    ...drawGroup("Time of a call: less is better", times, timesTop, seen, scale),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>This server beside its peers</title>
  <style>${style}</style>
  <rect class="page" width="${width}" height="${height}" rx="6"/>
${shapes.map((shape) => `  ${shape}`).join("\n")}
</svg>
`;
}

type Scale = (ratio: number) => number;

function heightOf(outcomes: readonly Outcome[]): number {
  return outcomes.length === 0 ? 0 : headHeight + outcomes.length * rowHeight;
}

function drawGroup(title: string, outcomes: readonly Outcome[], top: number, seen: readonly number[], scale: Scale) {
  if (outcomes.length === 0) return [];
  const firstRow = top + headHeight;
  const grid = (tick: number) =>
    line(tick === 1 ? "one" : "tick", scale(tick), firstRow - 4, outcomes.length * rowHeight + 4);
  return [
    text("head", 16, top + 26, title, "start"),
    text("quiet", columns.ratio, top + 46, "ratio"),
    text("quiet", columns.accepted, top + 46, "accepted"),
    ...seen.map((tick) => text("quiet", scale(tick), top + 46, String(tick), "middle")),
    ...seen.filter((tick) => tick !== 1).map(grid),
    ...outcomes.flatMap((outcome, i) => drawRow(outcome, firstRow + i * rowHeight, scale)),
    grid(1),
  ];
}

function drawRow({ name, figure, bar, sqlite: { ratio } }: Outcome, y: number, scale: Scale): string[] {
  const [from, to] = [Math.min(scale(1), scale(ratio)), Math.max(scale(1), scale(ratio))];
  const verdict = bar === undefined ? "plain" : reaches({ figure }, ratio, bar[0]) ? "good" : "bad";
  const accepted = bar && [
    line("accepted", scale(bar[0]), y + 1, 20),
    text("quiet", columns.accepted, y + 15, formatLimit(figure, bar[0])),
  ];
  return [
    text("name", columns.label, y + 15, name),
    `<rect class="${verdict}" x="${px(from)}" y="${y + 4}" width="${px(Math.max(1, to - from))}" height="14"/>`,
    ...(accepted ?? []),
    text("ratio", columns.ratio, y + 15, ratio.toFixed(2)),
  ];
}

function text(kind: string, x: number, y: number, content: string, anchor = "end"): string {
  return `<text class="${kind}" x="${px(x)}" y="${y}" text-anchor="${anchor}">${content}</text>`;
}

function line(kind: string, x: number, y: number, length: number): string {
  return `<line class="${kind}" x1="${px(x)}" x2="${px(x)}" y1="${y}" y2="${y + length}"/>`;
}

const px = (value: number) => value.toFixed(1);
