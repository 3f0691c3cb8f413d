/** The table of log lines in the documentation is that of the sources. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repository } from "../cli/platform-process.ts";

/** The messages that a source file logs, at any level. */
function messagesIn(source: string): string[] {
  const calls = [...source.matchAll(/\blog(?:ger)?(?:\.(?:debug|info|warn|error)|\[[^\]]*\])\(/g)].map(
    ({ index, 0: begin }) => argumentsAt(source, index + begin.length),
  );
  const named = [...source.matchAll(/\breportAs\("([^"]+)"\)/g)].map(([, message]) => message!);
  // The message follows the fields; there may be a choice of two.
  const texts = calls.map((call) => call.slice(call.lastIndexOf("}") + 1));
  return [...texts.flatMap((text) => [...text.matchAll(/"([^"]+)"/g)].map(([, message]) => message!)), ...named];
}

/** The text of the arguments that begin at `start`. */
function argumentsAt(source: string, start: number): string {
  let depth = 1;
  let at = start;
  for (; depth > 0; at++) {
    if (source[at] === "(") depth++;
    if (source[at] === ")") depth--;
  }
  return source.slice(start, at - 1);
}

test("every message that is logged is in the table of log lines, and every one of the table is logged", () => {
  const files = readdirSync(join(repository, "src"), { recursive: true, encoding: "utf8" });
  const sources = files.filter((path) => path.endsWith(".ts"));
  const logged = sources.flatMap((path) => messagesIn(readFileSync(join(repository, "src", path), "utf8")));
  const page = readFileSync(join(repository, "docs/logs-and-traces.md"), "utf8");
  const table = [...page.matchAll(/^\| `([^`]+)` \| (?:debug|info|warn|error) \|/gm)].map(([, message]) => message!);
  expect([...new Set(logged)].sort()).toEqual(table.sort());
});
