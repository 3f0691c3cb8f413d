import { expect, test } from "vitest";
import { linesOf } from "../../../src/feeds/source/lines.ts";

async function linesIn(chunks: string[], maxBytes = 10) {
  const lines: [number, string | undefined][] = [];
  const stream = (async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk);
  })();
  for await (const { number, bytes } of linesOf(stream, maxBytes))
    lines.push([number, bytes && Buffer.from(bytes).toString()]);
  return lines;
}

test.each<[string[], [number, string | undefined][]]>([
  [[], []],
  [[""], []],
  [["a"], [[1, "a"]]],
  [
    ["a\nb\n"],
    [
      [1, "a"],
      [2, "b"],
    ],
  ],
  [
    ["a\r\n \t\r\n\nb"],
    [
      [1, "a\r"],
      [4, "b"],
    ],
  ],
  [
    ["a", "b", "\n", "c"],
    [
      [1, "ab"],
      [2, "c"],
    ],
  ],
  [
    ["0123456789\n0123456789a\nb"],
    [
      [1, "0123456789"],
      [2, undefined],
      [3, "b"],
    ],
  ],
  [
    ["01234", "56789", "abcdef", "\nb"],
    [
      [1, undefined],
      [2, "b"],
    ],
  ],
  [["0123456789a"], [[1, undefined]]],
])("%j", async (chunks, lines) => {
  expect(await linesIn(chunks)).toEqual(lines);
});
