/** Text on a terminal: columns and control characters. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { printable } from "../../../src/log-text.ts";
import { pad, padOrCut, widthOf } from "../../../src/remote/print/text.ts";

test.each<[string, string, number]>([
  ["ASCII", "viewer", 6],
  ["nothing", "", 0],
  ["letters with accents", "größe é", 7],
  ["combining marks", "e\u0301a\u0308\u0323", 2],
  ["a mark without a letter", "\u0301", 0],
  ["Chinese", "漢字", 4],
  ["a rare Chinese character", "𠮷", 2],
  ["Japanese", "カタカナ", 8],
  ["half-width Japanese", "ｶﾅ", 2],
  ["full-width Latin", "Ａ￥", 4],
  ["Korean", "한국", 4],
  ["Korean in parts", "\u1112\u1161\u11ab", 2],
  ["an emoji", "🚀", 2],
  ["an emoji of several", "👩‍👩‍👧‍👦", 2],
  ["an emoji with a skin tone", "👍🏽", 2],
  ["a flag", "🇩🇪", 2],
  ["a text character as an emoji", "❤️", 2],
  ["a text character", "❤", 1],
  ["a keycap", "1️⃣", 2],
  ["Devanagari", "नि", 1],
])("%s takes its columns", (_, text, width) => {
  expect(widthOf(text)).toBe(width);
});

const texts = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom("漢", "e\u0301", "🚀", "👩‍👩‍👧‍👦", "🇩🇪", "a", " ", "\u0301", "❤️") }),
);

test("a text is filled or cut to its columns, and never within a character", () => {
  fc.assert(
    fc.property(texts.map(printable), fc.integer({ min: 1, max: 40 }), (text, width) => {
      const cut = padOrCut(text, width);
      expect(widthOf(cut)).toBe(width);
      if (widthOf(text) <= width) expect(cut).toBe(pad(text, width));
      else expect(text.startsWith(cut.replace(/… *$/, ""))).toBe(true);
    }),
  );
});

test.each<[string, string, string]>([
  ["a line break", "a\nb\r\n", "a\\nb\\r\\n"],
  ["a tab", "a\tb", "a\\tb"],
  ["an escape sequence", "\u001b[31mred\u001b]0;title\u0007", "\\u001b[31mred\\u001b]0;title\\u0007"],
  ["an escape sequence of 8 bits", "\u009b31m", "\\u009b31m"],
  ["delete and backspace", "a\u007f\b", "a\\u007f\\u0008"],
  ["directions of text", "a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"],
  ["what is invisible", "a\u200bb\ufeff", "a\\u200bb\\ufeff"],
  ["an emoji of several, which stays", "👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"],
])("%s is printed on one line", (_, text, printed) => {
  expect(printable(text)).toBe(printed);
});
