/** Words of bash, by bash itself. */
import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readLine, replyFor } from "../../../src/cli/completion/bash-line.ts";

const breaks = " \t\n\"'@><=;|&(:";
const names = fc.string({ unit: fc.constantFrom(..."ab:= '\"\\$`!#~*?[]{}()<>|&;@,ö漢"), minLength: 1, maxLength: 12 });

/** The words that bash reads in a line. */
function wordsOf(line: string): string[] {
  const printed = execFileSync("bash", ["--norc", "--noprofile", "-c", `printf '%s\\0' ${line}`], { encoding: "utf8" });
  return printed.split("\0").slice(0, -1);
}

test("a completed word is the value, whatever is typed of it and in which quotes", () => {
  fc.assert(
    fc.property(names, fc.nat(12), fc.constantFrom("", "'", '"'), (value, length, quote) => {
      const typed = [...value].slice(0, length).join("");
      const begin = `x ${quote}${replyFor(typed, { words: [], quote, kept: 0 })}`;
      const line = readLine(begin, breaks);
      expect(line.words).toEqual(["x", typed]);
      expect(line.quote).toBe(quote);
      const keptText = begin.slice(0, begin.length - replyFor(typed, line).length);
      expect(wordsOf(`${keptText}${replyFor(value, line)}${quote}`)).toEqual(["x", value]);
    }),
  );
});

test.each<[string, string[], number]>([
  ["platform ", ["platform", ""], 0],
  ["platform  get", ["platform", "get"], 0],
  ["platform --a=b:c", ["platform", "--a=b:c"], 6],
  ["platform a\\ b", ["platform", "a b"], 0],
  ["platform a\\:b", ["platform", "a:b"], 0],
  ["platform '' \"a:b", ["platform", "", "a:b"], 0],
  ['platform a"b"c', ["platform", "abc"], 2],
  ["platform a\\", ["platform", "a"], 0],
])("%s", (line, words, kept) => {
  expect(readLine(line, breaks)).toMatchObject({ words, kept });
});
