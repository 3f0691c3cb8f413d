/** Text of a server on a terminal: without control characters, and measured in columns. */
const segmenter = new Intl.Segmenter();
/** Emoji, East Asian wide and full-width characters, which take two columns (UAX #11). */
const wide = [
  /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u,
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f]/u,
  /[\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u,
];
/** Marks without a character to stand on. */
const marks = /^[\p{M}\u200c\u200d]+$/u;

/** How many columns a terminal needs for a printable text. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmenter.segment(text))
    width += wide.some((it) => it.test(segment)) ? 2 : marks.test(segment) ? 0 : 1;
  return width;
}

/** The text in at least `width` columns, filled with blanks. */
export function pad(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

/** The text in exactly `width` columns: filled with blanks, or cut with `…` at its end. */
export function padOrCut(text: string, width: number): string {
  if (widthOf(text) <= width) return pad(text, width);
  let [cut, used] = ["", 0];
  for (const { segment } of segmenter.segment(text)) {
    const next = widthOf(segment);
    if (used + next > width - 1) break;
    cut += segment;
    used += next;
  }
  return `${cut}…${" ".repeat(width - 1 - used)}`;
}

/** The last `width` columns of an ASCII text, with `…` at their beginning, or the text filled with blanks. */
export function padOrCutStart(text: string, width: number): string {
  return text.length <= width ? pad(text, width) : `…${text.slice(text.length - width + 1)}`;
}

/** The text in lines of at most `width` columns, broken after commas and blanks where it has some. */
export function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const part of text.split(/(?<=[, ])/)) {
    if (lines.at(-1) !== "" && widthOf(lines.at(-1)! + part.trimEnd()) > width) lines.push(part);
    else lines[lines.length - 1] += part;
  }
  return lines.map((line) => line.trimEnd());
}
