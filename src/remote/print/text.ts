/** Text of a server on a terminal: without control characters, and measured in columns. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: it finds them
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const segmenter = new Intl.Segmenter();
/** East Asian wide characters and emoji, which take two columns (UAX #11). */
const wide = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;

/** The text on one line, with an escape in the place of each control character. */
export function printable(text: string): string {
  return text.replace(controls, (it) =>
    it === "\n" ? "\\n" : it === "\t" ? "\\t" : `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** How many columns a terminal needs for a printable text. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The text in exactly `width` columns: filled with blanks, or cut with `…` at its end. */
export function padOrCut(text: string, width: number): string {
  const missing = width - widthOf(text);
  if (missing >= 0) return text + " ".repeat(missing);
  let [cut, used] = ["", 0];
  for (const { segment } of segmenter.segment(text)) {
    const next = widthOf(segment);
    if (used + next > width - 1) break;
    cut += segment;
    used += next;
  }
  return `${cut}…${" ".repeat(width - 1 - used)}`;
}
