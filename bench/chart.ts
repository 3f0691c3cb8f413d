/** A bar chart of ratios, as SVG. */

/** What a bar shows. */
export interface Bar {
  readonly name: string;
  readonly ratio: number;
}

const width = 720;
const rowHeight = 24;
const labelWidth = 230;

/** Draws the ratios on a logarithmic scale; the line is where both are equal. */
export function drawChart(bars: readonly Bar[]): string {
  const extent = Math.max(2, ...bars.map(({ ratio }) => Math.max(ratio, 1 / ratio)));
  const scale = (ratio: number) =>
    labelWidth + ((Math.log(ratio) / Math.log(extent) + 1) / 2) * (width - labelWidth - 60);
  const height = bars.length * rowHeight + 16;
  const rows = bars.map(({ name, ratio }, i) => {
    const y = 8 + i * rowHeight;
    const [from, to] = [scale(1), scale(ratio)].sort((a, b) => a - b) as [number, number];
    const text = ratio.toFixed(2);
    return `<text x="${labelWidth - 8}" y="${y + 15}" text-anchor="end">${name}</text>
  <rect x="${from.toFixed(1)}" y="${y + 3}" width="${Math.max(1, to - from).toFixed(1)}" height="${rowHeight - 8}" fill="${ratio >= 1 ? "#2f7d4f" : "#8a94a6"}"/>
  <text x="${(to + 6).toFixed(1)}" y="${y + 15}">${text}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="13" fill="#1c2430">
  <title>How often as fast as its peers this server is</title>
  <rect width="${width}" height="${height}" fill="#ffffff"/>
  ${rows.join("\n  ")}
  <line x1="${scale(1)}" y1="4" x2="${scale(1)}" y2="${height - 4}" stroke="#1c2430"/>
</svg>
`;
}
